# SPDX-License-Identifier: BSD-2-Clause
"""A headless chromium, by the DevTools protocol over a pipe; nothing but the standard library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, program, width=1280, height=800):
        self.profile = tempfile.mkdtemp()
        to_browser, ours_out = os.pipe()
        ours_in, from_browser = os.pipe()

        # Descriptors 3 and 4 of the browser, whatever ours are.
        def place():
            a, b = os.dup(to_browser), os.dup(from_browser)
            while a in (3, 4):
                a = os.dup(a)
            while b in (3, 4):
                b = os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, '--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--hide-scrollbars',
             '--disable-dev-shm-usage', '--no-first-run', '--user-data-dir=' + self.profile,
             f'--window-size={width},{height}', 'about:blank'],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.out, self.inp, self.buffer = ours_out, ours_in, b''
        self.number, self.session, self.events, self.errors = 0, None, [], []
        targets = self.call('Target.getTargets')['targetInfos']
        page = next(t for t in targets if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        self.call('Page.enable')
        self.call('Runtime.enable')
        self.call('Log.enable')
        self.size(width, height)

    def receive(self, until):
        while b'\0' not in self.buffer:
            ready, _, _ = select.select([self.inp], [], [], max(0, until - time.time()))
            if not ready:
                raise TimeoutError('the browser does not answer')
            some = os.read(self.inp, 1 << 20)
            if not some:
                raise EOFError('the browser has ended')
            self.buffer += some
        line, self.buffer = self.buffer.split(b'\0', 1)
        message = json.loads(line)
        if 'method' in message:
            self.events.append(message)
            if message['method'] == 'Runtime.exceptionThrown':
                details = message['params']['exceptionDetails']
                self.errors.append(details.get('exception', {}).get('description', details['text']))
            if message['method'] == 'Log.entryAdded' and message['params']['entry']['level'] == 'error':
                self.errors.append(message['params']['entry']['text'])
        return message

    def call(self, method, timeout=90, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.out, json.dumps(message).encode() + b'\0')
        until = time.time() + timeout
        while True:
            answer = self.receive(until)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]["message"]}')
                return answer['result']

    def open(self, address, timeout=90):
        self.events.clear()
        # The same page with another fragment would not be loaded anew.
        self.call('Page.navigate', url='about:blank')
        self.call('Page.navigate', url=address)
        until = time.time() + timeout
        while self.run('document.readyState + location.href') != 'complete' + address:
            if time.time() > until:
                raise TimeoutError('the page does not load: ' + address)
            time.sleep(0.05)

    def run(self, expression):
        """The value of an expression in the page; promises are waited for."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(result['exceptionDetails'].get('exception', {}).get('description', 'exception'))
        return result['result'].get('value')

    def size(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, yes):
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if yes else 'light'}])

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type='mouse' + kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse('Moved', x, y)
        self.mouse('Pressed', x, y, button='left', buttons=1, clickCount=1)
        self.mouse('Released', x, y, button='left', clickCount=1)

    def click_on(self, selector):
        x, y = self.run(f'''(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [r.left + r.width / 2, r.top + r.height / 2]; }})()''')
        self.click(x, y)

    def drag(self, x, y, to_x, to_y):
        self.mouse('Moved', x, y)
        self.mouse('Pressed', x, y, button='left', buttons=1, clickCount=1)
        for i in range(1, 6):
            self.mouse('Moved', x + (to_x - x) * i / 5, y + (to_y - y) * i / 5, button='left', buttons=1)
        self.mouse('Released', to_x, to_y, button='left', clickCount=1)

    def key(self, key, text=None, modifiers=0):
        codes = {'Enter': 13, 'Escape': 27, 'ArrowUp': 38, 'ArrowDown': 40, 'ArrowLeft': 37, 'ArrowRight': 39}
        down = {'type': 'keyDown' if text else 'rawKeyDown', 'key': key, 'modifiers': modifiers,
                'windowsVirtualKeyCode': codes.get(key, ord(key.upper()) if key.isalnum() and len(key) == 1 else 0)}
        if text:
            down['text'] = text
        self.call('Input.dispatchKeyEvent', **down)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key, modifiers=modifiers)

    def type(self, text):
        for c in text:
            self.key(c, c)

    def picture(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    def close(self):
        try:
            self.session = None
            self.call('Browser.close', timeout=10)
            self.process.wait(10)
        except (OSError, RuntimeError, TimeoutError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inp)
        shutil.rmtree(self.profile, ignore_errors=True)
