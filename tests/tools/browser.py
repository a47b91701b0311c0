"""Pages of the programs in a browser without a window."""

import json
import os
import re
import subprocess
import tempfile

# `key` presses a key, `type` fills the search; a script puts what it sees into `out`.
TOOLS = ('const out = []; const key = k => document.dispatchEvent(new KeyboardEvent("keydown", {key: k}));'
         'const type = t => { at("filter").value = t; at("filter").oninput(); };')
REPORT = ('const e = document.createElement("pre"); e.id = "seen"; e.textContent = JSON.stringify(out);'
          'document.body.append(e);')


def run(chromium, page, *options):
  """The browser's output for a page, which is a text."""
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'page.html')
    with open(path, 'w', encoding='utf-8') as file:
      file.write(page)
    result = subprocess.run([chromium, '--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=2000',
                             f'--user-data-dir={folder}/profile', *options, 'file://' + path],
                            capture_output=True, check=True, timeout=120)
    return result.stdout.decode()


def look(chromium, page, script, *options):
  """What `script` puts into `out` when the scripts of the page have run."""
  page = page.replace('</body>', f'<script>{TOOLS}{script}{REPORT}</script></body>')
  text = run(chromium, page, '--dump-dom', *options)
  match = re.search(r'<pre id="seen">(.*?)</pre>', text, re.S)
  if not match:
    raise AssertionError('the script did not end:\n' + text[-2000:])
  return json.loads(match[1].replace('&lt;', '<').replace('&gt;', '>').replace('&amp;', '&'))
