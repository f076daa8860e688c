"""Chromium without a screen, spoken to over pipes (the DevTools protocol): enough to open a page and look at it."""
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"]


class Browser:
    """One page. events: all that the browser reported of it, (method, params)."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.out = os.pipe()
        self.back, from_browser = os.pipe()

        def pipes():  # it wants them as 3 and 4
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen([CHROMIUM, *FLAGS, f"--user-data-dir={self.profile.name}",
                                         "--remote-debugging-pipe", "about:blank"], preexec_fn=pipes, close_fds=False, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def message(self, timeout):
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self.back, 1 << 20)
            assert piece, "the browser is gone"
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message(120)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            if "method" in answer:
                self.events.append((answer["method"], answer["params"]))

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + path)
        while not any(name == "Page.loadEventFired" for name, _ in self.events):
            answer = self.message(120)
            self.events.append((answer.get("method"), answer.get("params")))

    def size(self, width, height, mobile):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def scheme(self, name, media=""):
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": name}])

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def close(self):
        """Its helpers may outlive it for a moment, and write into the profile while it is removed."""
        self.process.terminate()
        self.process.wait()
        end = time.monotonic() + 5
        try:
            while time.monotonic() < end:  # dead ones stay in the group where nobody reaps them
                os.killpg(self.process.pid, signal.SIGKILL)
                time.sleep(0.05)
        except ProcessLookupError:
            pass
        os.close(self.out)
        os.close(self.back)
        self.profile.cleanup()
