"""Executes a notebook in its folder; a cell that raises fails. Use: notebook.py FILE.ipynb"""

import sys
from pathlib import Path

import nbclient
import nbformat

file = Path(sys.argv[1]).resolve()
notebook = nbformat.read(file, as_version=4)
nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(file.parent)}}).execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        print(output.get("text") or output.get("data", {}).get("text/plain", ""))
