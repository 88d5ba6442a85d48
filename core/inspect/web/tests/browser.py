"""A page in headless Chromium, driven by the DevTools protocol through a pipe. Nothing but Python."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = [
    "--headless=new",
    "--no-sandbox",  # for root, in containers
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


class Browser:
    """A browser with one page. All requests of the page and of its workers are in `requests`."""

    def __init__(self, program, width=1280, height=1000):
        self.folder = tempfile.mkdtemp(prefix="page-")
        self.number, self.events, self.requests, self.text = 0, [], [], b""
        self.asked = {}
        # Far from 3 and 4, which the browser wants.
        pipes = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for pair in (os.pipe(), os.pipe()) for end in pair]
        self.to, self.fro = pipes[1], pipes[2]

        def ends():
            os.dup2(pipes[0], 3)
            os.dup2(pipes[3], 4)

        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(pipes[0])
        os.close(pipes[3])
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Network.enable")
        # Workers, too, each before it runs.
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.to)
        os.close(self.fro)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, session, params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, **params):
        """The result of a command."""
        return self.result(self.send(method, self.session, params))

    def result(self, number, seconds=120):
        end = time.monotonic() + seconds
        while number not in self.asked:
            self.receive(end - time.monotonic())
        answer = self.asked.pop(number)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def receive(self, seconds):
        """Waits for a message."""
        if seconds <= 0 or not select.select([self.fro], [], [], seconds)[0]:
            raise TimeoutError("the browser does not answer")
        self.text += os.read(self.fro, 1 << 20)
        *messages, self.text = self.text.split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.asked[message["id"]] = message
            else:
                self.event(message["method"], message["params"])

    def event(self, method, params):
        if method == "Target.attachedToTarget":
            session = params["sessionId"]
            self.send("Network.enable", session, {})
            self.send("Runtime.enable", session, {})
            self.send("Runtime.runIfWaitingForDebugger", session, {})
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.events.append((method, params))

    def run(self, script):
        """The value of an expression in the page, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, condition, seconds=90):
        """Waits, in the page, until an expression is true."""
        self.run(f"""new Promise((done, fail) => {{
            const end = Date.now() + {seconds * 1000};
            const look = () => ({condition}) ? done(true)
                : Date.now() > end ? fail(new Error("never: " + {json.dumps(condition)})) : setTimeout(look, 20);
            look();
        }})""")

    def press(self, key, text=None):
        """Presses and releases a key."""
        codes = {"Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
                 "Home": 36, "PageUp": 33, "PageDown": 34, "Backspace": 8}
        code = codes.get(key, ord(key[0].upper()))
        text = text or {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        down = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": code}
        if text:
            down["text"] = text
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def choose(self, paths):
        """Chooses files, as a person does."""
        document = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=document, selector="#input")["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[os.path.abspath(path) for path in paths])

    def drop(self, paths, x=300, y=300):
        """Drags files over the page and drops them, as a person does."""
        data = {"items": [], "files": [os.path.abspath(path) for path in paths], "dragOperationsMask": 1}
        for step in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=step, x=x, y=y, data=data)

    def screenshot(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
