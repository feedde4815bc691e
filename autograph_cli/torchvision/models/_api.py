"""Models by name, and the weights that torchvision publishes for them, read from files that are there."""

from __future__ import annotations

import enum
import fnmatch
import functools
import inspect
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from autograph_cli.torch import hub, load, nn
from autograph_cli.torchvision import transforms

Builder = TypeVar("Builder", bound=Callable[..., nn.Module])
_TABLE: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("weights.json").read_text())
_BUILDERS: dict[str, Callable[..., nn.Module]] = {}
_WEIGHTS_OF: dict[str, type[WeightsEnum]] = {}


class WeightsEnum(enum.Enum):
    """The weights that torchvision publishes for one model; `DEFAULT` are its best."""

    @classmethod
    def verify(cls, wanted: Any) -> Any:
        """The weights of this name, or these; TypeError for those of another model, KeyError for an unknown name."""
        if wanted is None or isinstance(wanted, cls):
            return wanted
        if isinstance(wanted, str):
            return cls[wanted.replace(f"{cls.__name__}.", "")]
        raise TypeError(f"Invalid Weight class provided; expected {cls.__name__} but received {type(wanted).__name__}.")

    @property
    def file(self) -> str:
        """The name of the file, which ends in the first digits of its SHA-256."""
        return str(self.value["file"])

    @property
    def transforms(self) -> Callable[..., Any]:
        """Return what makes the preparation of pictures that these weights were trained with."""
        return functools.partial(ImageClassification, **{k: v for k, v in self.value.items() if k != "file"})

    @property
    def meta(self) -> dict[str, Any]:
        """Return what is known of these weights; the names of classes are not part of autograph."""
        return {}

    def get_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The weights, from the folder of `torch.hub`; FileNotFoundError where the file is not there."""
        path = Path(hub.get_dir()) / "checkpoints" / self.file
        if not path.exists():
            raise FileNotFoundError(
                f"The weights {type(self).__name__}.{self.name} are not on this machine and autograph downloads "
                f"nothing: put torchvision's file {self.file} into {path.parent}, or leave weights= out."
            )
        state: dict[str, Any] = load(path, map_location="cpu", weights_only=True)
        return state


class ImageClassification(nn.Module):
    """A picture resized, cut to its middle, and normalized as most published weights expect."""

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: Iterable[float] = (0.485, 0.456, 0.406),
        std: Iterable[float] = (0.229, 0.224, 0.225),
        interpolation: str = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = transforms.InterpolationMode(interpolation), antialias

    def forward(self, img: Any) -> Any:
        F = transforms.functional
        img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        if not hasattr(img, "dim"):
            img = F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img), mean=self.mean, std=self.std)


def _weights_class(name: str) -> type[WeightsEnum]:
    members = dict(_TABLE[name])
    default = members.pop("DEFAULT", None)
    # Members with equal values would be aliases of each other.
    rows = [(member, {**facts}) for member, facts in members.items()]
    if default:
        rows.append(("DEFAULT", next(facts for member, facts in rows if member == default)))
    make: Any = WeightsEnum
    made: type[WeightsEnum] = make(name, rows)
    made.__module__ = "torchvision.models"
    return made


WEIGHTS: dict[str, type[WeightsEnum]] = {name: _weights_class(name) for name in _TABLE}


BACKBONE = "IMAGENET1K_V1"
"""The weights with which the backbone of a larger model begins, unless told."""


def register_model(name: str | None = None) -> Callable[[Builder], Builder]:
    """Make a function known to `get_model` under its name, or another; ValueError for a name that is taken."""

    def register(build: Builder) -> Builder:
        key = name or build.__name__
        if key in _BUILDERS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        _BUILDERS[key] = build
        return build

    return register


def published(weights: str, old: str = "IMAGENET1K_V1", flag: str = "pretrained") -> Callable[[Builder], Builder]:
    """A builder of one model: takes `weights=` of this class, and the older flag for those named `old`."""
    cls = WEIGHTS[weights]

    def decorate(build: Builder) -> Builder:
        @functools.wraps(build)
        def model(*args: Any, weights: Any = None, progress: bool = True, **options: Any) -> nn.Module:
            if args:
                warnings.warn(
                    "Using 'weights' as positional parameter(s) is deprecated since 0.13 and may be removed in the "
                    "future. Please use keyword parameter(s) instead.",
                    stacklevel=2,
                )
                weights = args[0]
            if flag in options or isinstance(weights, bool):
                chosen = options.pop(flag, weights)
                warnings.warn(
                    f"The parameter '{flag}' is deprecated since 0.13 and may be removed in the future, please use "
                    "'weights' instead.",
                    stacklevel=2,
                )
                weights = cls[old] if chosen else None
            found = cls.verify(weights)
            state = None if found is None else found.get_state_dict()
            made = build(**(options if state is None else _fitting(build, options, state)))
            if state is not None:
                made.load_state_dict(state)
            return made

        signature = inspect.signature(build)
        model.__signature__ = signature  # type: ignore[attr-defined]
        _WEIGHTS_OF[build.__name__] = cls
        register_model(build.__name__)(model)
        return model  # type: ignore[return-value]

    return decorate


_OF_MODEL = {name.lower(): name for name in WEIGHTS}


def variant(name: str, doc: str, make: Callable[..., Any], *args: Any, **defaults: Any) -> Callable[..., Any]:
    """The published builder of one model of a family: `make` with these arguments, and with those that a call names."""

    def build(**kwargs: Any) -> nn.Module:
        made: nn.Module = make(*args, **defaults | kwargs)
        return made

    build.__name__ = build.__qualname__ = name
    build.__doc__, build.__module__ = doc, make.__module__
    return published(_OF_MODEL[f"{name}_weights"])(build)


def _fitting(build: Callable[..., Any], options: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Options for a model that is about to be given weights: parts that only these have, and no others before."""
    known = inspect.signature(build).parameters
    fitting = {"aux_loss": any(key.startswith("aux_") for key in state), "weights_backbone": None}
    return options | {key: value for key, value in fitting.items() if key in known}


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """The names of all models that are here, or of those in a module, with shell patterns to choose among them."""
    names = {name for name, build in _BUILDERS.items() if module is None or _home(build) == module.__name__}
    patterns = [include] if isinstance(include, str) else list(include or ())
    if patterns:
        names = {name for pattern in patterns for name in fnmatch.filter(names, pattern)}
    for pattern in [exclude] if isinstance(exclude, str) else exclude or ():
        names -= set(fnmatch.filter(names, pattern))
    return sorted(names)


def _home(build: Callable[..., Any]) -> str:
    return build.__module__.rsplit(".", 1)[0]


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """The function that builds a model; ValueError for a name that is not here."""
    try:
        return _BUILDERS[name.lower()]
    except KeyError:
        raise ValueError(f"Unknown model {name}") from None


def get_model(name: str, **config: Any) -> nn.Module:
    """A model by its name."""
    return get_model_builder(name)(**config)


def get_model_weights(name: Callable[..., nn.Module] | str) -> type[WeightsEnum]:
    """The weights of a model, which is told by its name or its builder."""
    key = name.lower() if isinstance(name, str) else name.__name__
    get_model_builder(key)
    return _WEIGHTS_OF[key]


def get_weight(name: str) -> WeightsEnum:
    """Weights by their full name: `ResNet50_Weights.IMAGENET1K_V2`."""
    cls, dot, member = name.partition(".")
    if not dot or cls not in WEIGHTS:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    return WEIGHTS[cls][member]
