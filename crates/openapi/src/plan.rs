//! From arguments to a request, ready to be sent by someone else.
//!
//! Whatever the arguments say, the address keeps the base's origin and the template's segments.

use model::{Code, Fault, Violation};
use serde_json::{Map, Value};

use crate::limits::URL_BYTES_MAX;
use crate::operation::{BODY_ARG, Operation};
use crate::parameter::{Parameter, Place};
use crate::server;
use crate::write::{self, Style};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPlan {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
}

impl Operation {
    /// Plans a request against `base`, which [`crate::Document::base_url`] gives. Arguments that
    /// are missing, unknown or impossible to write are refused as `ARGS_INVALID`.
    pub fn plan(&self, base: &str, args: &Value) -> Result<RequestPlan, Fault> {
        let base = server::check(base).map_err(Fault::internal)?;
        let empty = Map::new();
        let args = match args {
            Value::Null => &empty,
            Value::Object(args) => args,
            _ => return Err(self.refuse("", "type", "the arguments must be an object")),
        };
        self.check_names(args)?;
        let url = format!("{base}{}{}", self.path_of(args)?, self.query_of(args)?);
        if url.len() > URL_BYTES_MAX {
            let message = format!("the arguments make an address of over {URL_BYTES_MAX} bytes");
            return Err(self.refuse("", "maxLength", &message));
        }
        let mut headers = vec![("accept".to_owned(), "application/json, */*;q=0.8".to_owned())];
        headers.extend(self.headers_of(args)?);
        let body = self.body_of(args).map(|(media_type, bytes)| {
            headers.push(("content-type".to_owned(), media_type.to_owned()));
            bytes
        });
        Ok(RequestPlan { method: self.method.clone(), url, headers, body })
    }

    fn check_names(&self, args: &Map<String, Value>) -> Result<(), Fault> {
        let body = self.body.iter().map(|body| (BODY_ARG, body.required));
        let known = self.parameters.iter().map(|p| (p.arg.as_str(), p.required)).chain(body);
        let known: Vec<(&str, bool)> = known.collect();
        let is_unknown = |arg: &&String| known.iter().all(|(name, _)| name != arg);
        if let Some(arg) = args.keys().find(is_unknown) {
            let message = format!("`{arg}` is not an argument of this tool");
            return Err(self.refuse(arg, "additionalProperties", &message));
        }
        // A required body may be the JSON `null`; a parameter cannot be written as one.
        let is_missing = |arg: &str| match args.get(arg) {
            None => true,
            Some(value) => value.is_null() && arg != BODY_ARG,
        };
        match known.iter().find(|(arg, required)| *required && is_missing(arg)) {
            Some((arg, _)) => Err(self.refuse(arg, "required", &format!("`{arg}` is required"))),
            None => Ok(()),
        }
    }

    fn path_of(&self, args: &Map<String, Value>) -> Result<String, Fault> {
        let find = |wire: &str| {
            let parameters = &mut self.given(Place::Path, args);
            let (parameter, value) = parameters.find(|(parameter, _)| parameter.wire == wire)?;
            write::simple(value, parameter.style)
        };
        self.template.fill(find).map_err(|wire| {
            let parameters = &mut self.parameters.iter();
            let named = parameters.find(|p| p.place == Place::Path && p.wire == wire);
            let arg = named.map_or(wire, |parameter| parameter.arg.as_str());
            let message = format!("`{arg}` must be plain text that names one path segment");
            self.refuse(arg, "pattern", &message)
        })
    }

    fn query_of(&self, args: &Map<String, Value>) -> Result<String, Fault> {
        let mut pairs = Vec::new();
        for (parameter, value) in self.given(Place::Query, args) {
            self.check_spread(parameter, value)?;
            let written = write::query(&parameter.wire, value, parameter.style);
            pairs.extend(written.ok_or_else(|| self.unwritable(parameter))?);
        }
        Ok(if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) })
    }

    /// Properties that become query names of their own must not pass for other parameters.
    fn check_spread(&self, parameter: &Parameter, value: &Value) -> Result<(), Fault> {
        let (Style::FormExplode, Value::Object(map)) = (parameter.style, value) else {
            return Ok(());
        };
        let others = || self.parameters.iter().filter(|p| p.place == Place::Query);
        match map.keys().find(|key| others().any(|other| other.wire == **key)) {
            Some(key) => {
                let message = format!("`{}` may not set `{key}`", parameter.arg);
                Err(self.refuse(&parameter.arg, "propertyNames", &message))
            }
            None => Ok(()),
        }
    }

    fn headers_of(&self, args: &Map<String, Value>) -> Result<Vec<(String, String)>, Fault> {
        let given = self.given(Place::Header, args);
        let written = given.map(|(parameter, value)| {
            let text = write::simple(value, parameter.style);
            let text = text.filter(|text| write::is_header_value(text));
            let text = text.ok_or_else(|| self.unwritable(parameter))?;
            Ok((parameter.wire.to_ascii_lowercase(), text))
        });
        written.collect()
    }

    fn body_of(&self, args: &Map<String, Value>) -> Option<(&str, Vec<u8>)> {
        let body = self.body.as_ref()?;
        let value = args.get(BODY_ARG).filter(|value| body.required || !value.is_null())?;
        Some((body.media_type.as_str(), value.to_string().into_bytes()))
    }

    /// The parameters of one place that have a value. Null stands for absent.
    fn given<'a>(
        &'a self,
        place: Place,
        args: &'a Map<String, Value>,
    ) -> impl Iterator<Item = (&'a Parameter, &'a Value)> {
        let here = self.parameters.iter().filter(move |parameter| parameter.place == place);
        here.filter_map(|parameter| Some((parameter, args.get(&parameter.arg)?)))
            .filter(|(_, value)| !value.is_null())
    }

    fn unwritable(&self, parameter: &Parameter) -> Fault {
        let kind = match parameter.place {
            Place::Header => "one line of printable ASCII",
            Place::Path | Place::Query => "plain values that fit its style",
        };
        let message = format!("`{}` must be {kind}", parameter.arg);
        self.refuse(&parameter.arg, "type", &message)
    }

    fn refuse(&self, arg: &str, rule: &str, message: &str) -> Fault {
        let escaped = arg.replace('~', "~0").replace('/', "~1");
        let violation = Violation {
            instance_path: if arg.is_empty() { String::new() } else { format!("/{escaped}") },
            schema_path: format!("/{rule}"),
            message: message.to_owned(),
        };
        Fault::new(Code::ArgsInvalid, message).at(&self.name).violating(vec![violation])
    }
}
