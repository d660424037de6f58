# SPDX-License-Identifier: BSD-2-Clause
"""speedscope_read.py CHROMIUM PAGE PROFILE: opens a profile in speedscope's own page, as its package has it. Prints the weight
of the first profile as speedscope has it ("weight N"), the sum of what its functions have themselves ("self N"), and a line
for each function: its own weight and its name."""
import base64
import json
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../html'))
import devtools  # noqa: E402

# A row each: "503 (100%)", "288 (57%)", "work_60".
ROWS = '''[...document.querySelectorAll('tr')].map(r => [...r.querySelectorAll('td')].map(d => d.textContent))'''
VIEW = '''[...document.querySelectorAll('div')].filter(d => /Sandwich$/.test(d.textContent) && d.textContent.length < 14).pop()'''


def wait_for(browser, expression):
    until = time.time() + 60
    while not browser.run(expression):
        if time.time() > until:
            raise TimeoutError(expression)
        time.sleep(0.2)


def number(text):
    return int(re.match(r'[\d,]+', text).group().replace(',', ''))


def main():
    chromium, page, profile = sys.argv[1:4]
    with open(profile, 'rb') as f:
        text = base64.b64encode(f.read()).decode()
    with tempfile.NamedTemporaryFile('w', suffix='.js') as script:
        script.write(f'speedscope.loadFileFromBase64("profile.json", {json.dumps(text)})')
        script.flush()
        browser = devtools.Browser(chromium, 1280, 20000) # high enough for all rows
        try:
            browser.open(f'file://{page}#localProfilePath={script.name}')
            wait_for(browser, f'!!{VIEW}')
            browser.run(f'{VIEW}.click()')
            wait_for(browser, f'{ROWS}.some(r => /%/.test(r[1]))')
            rows = browser.run(ROWS)
        finally:
            browser.close()
    functions = [r for r in rows if len(r) == 3 and '%' in r[1]]
    print('weight', next(number(r[2]) for r in rows if len(r) == 3 and r[0] == '1'))
    print('self', sum(number(r[1]) for r in functions))
    for _, own, name in functions:
        print(number(own), name)


main()
