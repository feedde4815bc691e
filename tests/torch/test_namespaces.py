"""The small namespaces that scripts name at their top: they are there, and say the truth."""

import pytest

from autograph_cli import torch
from autograph_cli.torch import jit
from tests.cases import for_each

NOT_THERE = [
    (lambda: torch.hub.load("pytorch/vision", "resnet18"), RuntimeError, "torch.hub does not download"),
    (lambda: torch.jit.load("x.pt"), RuntimeError, "TorchScript files are not available"),
    (lambda: torch.profiler.profile().export_stacks("x"), NotImplementedError, "export_stacks is not available"),
    (lambda: torch.mps.synchronize(), RuntimeError, r"Cannot execute deviceSynchronize\(\) without MPS backend\."),
    (lambda: torch.mps.get_rng_state(), RuntimeError, r"Cannot execute getDefaultGenerator\(\) without MPS backend\."),
    (lambda: torch.xpu.synchronize(), AssertionError, "Torch not compiled with XPU enabled"),
    (lambda: torch.cuda.synchronize(), AssertionError, "Torch not compiled with CUDA enabled"),
    (lambda: torch.cuda.set_device(0), AssertionError, "Torch not compiled with CUDA enabled"),
    (lambda: torch.cuda.set_rng_state_all([1]), AssertionError, "Torch not compiled with CUDA enabled"),
    (lambda: torch.cuda.device(0).__enter__(), RuntimeError, "PyTorch was compiled without CUDA support"),
    (lambda: torch.cuda.device("cpu"), ValueError, "Expected a cuda device, but got: cpu"),
    (lambda: torch.cuda.Stream(), RuntimeError, "torch.cuda.Stream requires CUDA support"),
    (lambda: torch.cuda.nvtx.range_push("a"), RuntimeError, "NVTX functions not installed"),
    (lambda: torch.cuda.Frob, AttributeError, "torch.cuda.Frob is not available"),
    (lambda: torch.accelerator.synchronize(), RuntimeError, "Cannot access accelerator device when none is available"),
    (lambda: torch.ones(1).pin_memory(), RuntimeError, "Cannot access accelerator device when none is available"),
    (lambda: torch.backends.mkldnn.frob, AttributeError, "torch.backends.mkldnn.frob is not available"),
    (lambda: torch.set_num_threads("a"), RuntimeError, "set_num_threads expects an int, but got str"),
    (lambda: torch.set_num_threads(0), RuntimeError, "set_num_threads expects a positive integer"),
    (
        lambda: torch.set_deterministic_debug_mode(7),
        RuntimeError,
        "invalid value of debug_mode, expected 0, 1, or 2, but got 7",
    ),
    (lambda: torch.autocast("meta"), RuntimeError, "unsupported scalarType"),
    (lambda: torch.autocast(3), ValueError, "Expected `device_type` of type `str`"),
    (lambda: torch.utils.nothing, AttributeError, "torch.utils.nothing is not available"),
]


@pytest.mark.parametrize("act, kind, text", NOT_THERE, ids=[text for _, _, text in NOT_THERE])
def test_what_is_not_there_says_so(act, kind, text):
    with pytest.raises(kind, match=text):
        act()


def test_a_package_says_so_however_it_was_imported(python):
    code = "import importlib; cuda = importlib.import_module('autograph_cli.torch.cuda'); cuda.Frob"
    assert "torch.cuda.Frob is not available" in python("-c", code).stderr


@pytest.mark.parametrize(
    "compile, name",
    [
        (lambda f: torch.compile(f), "torch.compile"),
        (lambda f: torch.compile(mode="max-autotune")(f), "torch.compile"),
        (lambda f: torch.jit.script(f), "torch.jit.script"),
        (lambda f: torch.jit.trace(f, torch.ones(1)), "torch.jit.trace"),
    ],
)
def test_compiling_gives_the_same_function_and_warns_once(compile, name, monkeypatch, recwarn):
    monkeypatch.setattr(jit, "_said", set())
    for _ in range(3):
        assert compile(abs) is abs
    assert [str(w.message) for w in recwarn] == [
        f"{name} does not compile in autograph's engine: the code runs as it is"
    ]


def test_marks_for_compilers_leave_functions_as_they_are():
    for mark in (
        jit.ignore,
        jit.ignore(drop=True),
        jit.unused,
        jit.export,
        jit.script_if_tracing,
        torch.compiler.disable,
        torch.compiler.disable(),
    ):
        assert mark(abs) is abs


def test_no_other_device_is_there():
    assert not any((torch.mps.is_available(), torch.xpu.is_available(), torch.cuda.is_available()))
    assert not any((torch.compiler.is_compiling(), torch.jit.is_scripting(), torch.jit.is_tracing()))


def test_labels_are_allowed_everywhere():
    with torch.profiler.record_function("step"):
        pass


def test_tensorboard_needs_its_package():
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        with pytest.raises(ModuleNotFoundError, match=r"torch.utils.tensorboard needs the tensorboard package"):
            torch.utils.tensorboard
    else:
        assert torch.utils.tensorboard.SummaryWriter


def test_the_hub_knows_its_folder(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert torch.hub.get_dir() == "/somewhere/hub"


def test_scripts_may_import_parts_by_name(autograph, tmp_path):
    (tmp_path / "s.py").write_text(
        "import torch.optim as optim\nimport torch.utils.data\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "from torch.optim.lr_scheduler import StepLR\nfrom torch.optim import Adam\n"
        "from torch.jit import script\nimport torch\n"
        "w = torch.nn.Parameter(torch.ones(2))\no = optim.SGD([w], lr=0.5)\ns = StepLR(o, 1)\n"
        "for (x,) in DataLoader(TensorDataset(torch.arange(4.0).reshape(2, 2))):\n"
        "    o.zero_grad(); (w * x).sum().backward(); o.step(); s.step()\n"
        "torch.save(o.state_dict(), 'o.pt'); print(torch.load('o.pt')['param_groups'][0]['lr'], w.tolist())\n"
    )
    done = autograph("run", "s.py")
    assert done.stdout.splitlines()[0] == "0.005000000000000001 [0.8999999761581421, 0.3499999940395355]", done.stderr


ANSWERS = """
torch.cuda.is_available() -> False
torch.cuda.device_count() -> 0
torch.cuda.is_initialized() -> False
torch.cuda.is_bf16_supported() -> False
torch.cuda.memory_allocated() -> 0
torch.cuda.max_memory_reserved() -> 0
torch.cuda.memory_stats() -> OrderedDict()
torch.cuda.manual_seed(1) -> None
torch.cuda.seed_all() -> None
torch.cuda.empty_cache() -> None
torch.cuda.get_rng_state_all() -> []
torch.cuda.set_rng_state_all([]) -> None
torch.cuda.set_device(-1) -> None
torch.cuda.device(-1).__enter__() -> None
torch.cuda.stream(None).__enter__() -> None
torch.cuda.get_arch_list() -> []
torch.cuda.OutOfMemoryError -> <class 'torch.OutOfMemoryError'>
torch.backends.cudnn.is_available() -> False
torch.backends.cudnn.version() -> None
torch.backends.cudnn.enabled -> True
torch.backends.cudnn.benchmark -> False
torch.backends.cudnn.benchmark_limit -> None
torch.backends.cuda.is_built() -> False
torch.backends.cuda.flash_sdp_enabled() -> True
torch.backends.cuda.matmul.allow_tf32 -> False
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction -> True
torch.backends.mps.is_available() -> False
torch.backends.mps.is_built() -> False
torch.backends.mkldnn.enabled -> True
torch.backends.opt_einsum.is_available() -> False
torch.mps.is_available() -> False
torch.mps.device_count() -> 0
torch.xpu.is_available() -> False
torch.xpu.is_initialized() -> False
torch.xpu.device_count() -> 0
torch.xpu.memory_allocated() -> 0
torch.xpu.is_bf16_supported() -> False
torch.accelerator.is_available() -> False
torch.accelerator.current_accelerator() -> None
torch.accelerator.device_count() -> 0
torch.cpu.is_available() -> True
torch.cpu.device_count() -> 1
torch.cpu.current_device() -> 'cpu'
torch.cpu.synchronize() -> None
torch.version.cuda -> None
torch.version.hip -> None
torch.version.xpu -> None
torch.version.debug -> False
torch.distributed.is_initialized() -> False
torch.multiprocessing.get_sharing_strategy() -> 'file_descriptor'
torch.is_autocast_enabled() -> False
torch.is_autocast_enabled('cpu') -> False
torch.get_autocast_dtype('cpu') -> torch.bfloat16
torch.is_deterministic_algorithms_warn_only_enabled() -> False
torch.get_deterministic_debug_mode() -> 0
torch.is_warn_always_enabled() -> False
torch.__version__ > '2.2' -> True
torch.__version__ >= (2, 13) -> True
torch.__version__ >= '2.13.0a0' -> True
torch.__version__ == '2.13.0' -> False
torch.__version__ < '2.13.1' -> True
torch.__version__ < (2,) -> False
torch.__version__ == 'abc' -> False
torch.__version__.split('+')[0] -> '2.13.0'
""".strip().splitlines()
"""As PyTorch answers on a machine without a GPU."""


@for_each("line", ANSWERS)
def test_what_scripts_ask_at_their_top_is_answered_as_by_pytorch(line):
    question, answer = line.split(" -> ")
    assert repr(eval(question)) == answer


def test_switches_may_be_set_for_a_block():
    with torch.backends.cudnn.flags(enabled=False, benchmark=True):
        assert (torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark) == (False, True)
    assert (torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark) == (True, False)
    with pytest.warns(FutureWarning, match="sdpa_kernel"), torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


def test_threads_and_determinism_are_taken_note_of():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        torch.set_deterministic_debug_mode("warn")
        assert (torch.get_num_threads(), torch.get_deterministic_debug_mode()) == (3, 1)
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert "at::get_num_threads() : 3" in torch.__config__.parallel_info()
    finally:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode(0)


def test_an_unknown_precision_is_warned_of():
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("x")
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (
            lambda: torch.autocast("cuda"),
            UserWarning,
            "CUDA is not available or torch_xla is imported. Disabling autocast",
        ),
        (
            lambda: torch.autocast("cpu", dtype=torch.float32),
            UserWarning,
            "In CPU autocast, but the target dtype is not supported",
        ),
        (
            lambda: torch.amp.GradScaler(),
            UserWarning,
            "torch.cuda.amp.GradScaler is enabled, but CUDA is not available",
        ),
        (
            lambda: torch.cuda.amp.GradScaler(enabled=False),
            FutureWarning,
            r"Please use `torch.amp.GradScaler\('cuda', args...\)` instead",
        ),
        (
            lambda: torch.cuda.amp.autocast(enabled=False),
            FutureWarning,
            r"Please use `torch.amp.autocast\('cuda', args...\)` instead",
        ),
    ],
)
def test_what_needs_a_gpu_is_disabled_with_a_warning(make, kind, text):
    with pytest.warns(kind, match=text):
        made = make()
    if isinstance(made, torch.amp.GradScaler):
        loss = torch.ones(1)
        assert made.scale(loss) is loss
        assert (made.is_enabled(), made.get_scale(), made.state_dict(), made.update()) == (False, 1.0, {}, None)
    else:
        with made as entered:
            assert entered is made
        assert made(abs)(-1) == 1


def test_losses_are_scaled_as_by_pytorch():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    scales, weights = [], []
    for factor in (1.0, 1.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale(model(torch.full((1, 2), factor)).sum()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        weights.append(model.weight.tolist())
    assert scales == [8, 16, 8, 8, 16]
    assert weights[1] == weights[2]
    assert weights[2] != weights[3]
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_steps_out_of_order_say_so():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu")
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    loss = scaler.scale(model(torch.ones(1, 2)).sum())
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="has already been called since the last update"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)


@pytest.mark.parametrize(
    "call",
    [
        "torch.distributed.rpc.init_rpc('a')",
        "torch.hub.load_state_dict_from_url('x')",
        "torch.distributed.tensor.DTensor()",
        "torch.jit.ScriptModule()",
    ],
)
def test_what_needs_more_than_one_process_or_a_network_says_so_when_it_is_called(call):
    with pytest.raises(RuntimeError, match="in autograph's engine"):
        eval(call)


def test_types_of_results_are_found_by_name():
    assert type(torch.topk(torch.arange(3.0), 1)) is torch.return_types.topk
    assert type(torch.eye(2).max(0)) is torch.return_types.max
    assert type(torch.linalg.svd(torch.eye(2))) is torch.return_types.linalg_svd


def test_versions_compare_by_their_numbers():
    Version = torch.torch_version.TorchVersion
    assert sorted(map(Version, ("2.13.0+cpu", "2.2.1", "2.13.0", "2.13.0rc1", "1.9"))) == [
        "1.9",
        "2.2.1",
        "2.13.0rc1",
        "2.13.0",
        "2.13.0+cpu",
    ]
    assert Version("2.0.0") == "2.0"
    assert Version("2.0") != "2.1"
    assert len({Version("2.0"), "2.0"}) == 1


def test_scripts_may_import_names_for_gpus(autograph, tmp_path):
    (tmp_path / "s.py").write_text(
        "import torch, torch.backends.cudnn as cudnn, torch.multiprocessing as mp, torch.distributed as dist\n"
        "from torch.nn.parallel import DistributedDataParallel as DDP\nimport torch.utils.model_zoo\n"
        "from torch.distributed import init_process_group, destroy_process_group\n"
        "from torch.cuda.amp import GradScaler, autocast\nfrom torch.amp import autocast as autocast2\nfrom torch.types import Device, Number\n"
        "cudnn.benchmark = True\nmp.set_sharing_strategy('file_system')\nprint(mp.cpu_count() > 0, dist.is_available() and dist.is_initialized())\n"
    )
    done = autograph("run", "s.py")
    assert done.stdout.splitlines()[0] == "True False", done.stderr
