# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: where they work, what they check, and how act and
transformers answer. The first argument of a test is the build, further ones its parts."""
import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import time

build = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(build / "python" / "site"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers as T  # noqa: E402

import act  # noqa: E402
from act.finetune import command  # noqa: E402
from act.finetune.folder import ModelFolder  # noqa: E402
from act.finetune.values import Assignment  # noqa: E402

T.utils.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
FAILURES = []
WORK = pathlib.Path(tempfile.mkdtemp(prefix="act-finetune-"))
CACHE = WORK / "cache"


def check(what, ok):
    if not ok:
        FAILURES.append(what)
    print(("ok  " if ok else "BAD ") + what, flush=True)


def refuses(what, text, call):
    try:
        call()
    except act.Error as error:
        check(f"{what}: {str(error)[:110]}", text in str(error))
    except Exception as error:  # noqa: BLE001
        check(f"{what}: {type(error).__name__}: {error}", False)
    else:
        check(f"{what} was not refused", False)


def act_command(*words):
    """What `act` prints to standard output, and its status."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
        status = command.main([str(w) for w in words])
    return status, out.getvalue(), err.getvalue()


def logits_of(model, ids):
    with torch.no_grad():
        return model.double()(input_ids=torch.as_tensor(ids)).logits.numpy()


def act_logits(path, ids, **options):
    """Of one row, by a program that sees all its tokens."""
    folder = ModelFolder(path)
    options |= folder.adapter.import_options() if folder.adapter else {}
    module = act.import_config(folder.config, mode="infer", batch=1, seq=len(ids[0]), **options)
    step = act.Device().load(module.run(fuse_attention=True).emit())
    Assignment(step.parameters, folder.tensors(), folder.adapter_tensors()).set(step, 0)
    out = step.run("forward", inputs={"tokens": np.asarray(ids, np.int32)})
    return torch.as_tensor(out["logits"]).float().numpy()


def far(a, b):
    return float(np.abs(a - b).max() / np.abs(b).max())


def run(parts):
    """The parts that the command line names, or all."""
    for part in parts:
        if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
            start = time.time()
            part()
            print(f"    {part.__name__}: {time.time() - start:.1f} s", flush=True)
    shutil.rmtree(WORK)
    print(f"{len(FAILURES)} failures")
    sys.exit(len(FAILURES) > 0)
