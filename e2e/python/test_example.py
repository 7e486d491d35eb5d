"""The example of the manual runs as it is printed there."""

import subprocess

from conftest import PATIENCE

EXAMPLE = "example.py"
URL = "http://127.0.0.1:8642/mcp"


def test_the_example_of_the_manual_lists_the_tools(home, new_python, request):
    text = (request.path.parent / EXAMPLE).read_text()
    assert URL in text
    program = text.replace(URL, home.up())
    done = subprocess.run([new_python, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["tool_browse", "tool_execute", "tool_view"]
