"""What transforms make of small pictures, written by torchvision: `python tests/torchvision/record_transforms.py`.

Each line is an expression, evaluated after the same seeds; test_transforms.py asks ours.
"""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_name("transforms.json")

CONVERSIONS = """
T.ToTensor()(im); T.ToTensor()(gray); T.ToTensor()(one); T.ToTensor()(deep); T.ToTensor()(wide); T.ToTensor()(real)
T.ToTensor()(A); T.ToTensor()(A[:,:,0]); T.ToTensor()(A.astype('float32')); T.PILToTensor()(im); T.PILToTensor()(gray)
T.PILToTensor()(deep); T.ToPILImage()(u); T.ToPILImage()(f); T.ToPILImage()(f[0]); T.ToPILImage()(A[:,:,:2]); T.ToPILImage('HSV')(u)
T.ToPILImage('F')(f[0]); T.ToPILImage()(u[:1].to(torch.int32)); T.ToPILImage()(u[:1].to(torch.int16)); T.ToPILImage()(A.astype('float32')/255)
F.convert_image_dtype(u,torch.float32); F.convert_image_dtype(u,torch.float64); F.convert_image_dtype(u,torch.int16)
F.convert_image_dtype(u,torch.int32); F.convert_image_dtype(f,torch.uint8); F.convert_image_dtype(f,torch.int16)
F.convert_image_dtype(f.double(),torch.int32); F.convert_image_dtype(u.to(torch.int16)*100,torch.uint8); F.convert_image_dtype(f,torch.float16)
v2.ToImage()(im); v2.ToImage()(A); v2.ToImage()(f); v2.ToDtype(torch.float32,scale=True)(v2.ToImage()(im)); v2.ToDtype(torch.float64)(u)
v2.ToPureTensor()(v2.ToImage()(im)); v2.ToTensor()(im); v2.ToPILImage()(f); v2.PILToTensor()(im); v2.Lambda(lambda x:x*2)(f)
v2.ToDtype({torch.Tensor:torch.float64,'others':None})(f); v2.ConvertImageDtype(torch.float64)(u); v2.Identity()(f)
T.Normalize((.1,.2,.3),(.4,.5,.6))(f); T.Normalize(.5,.25)(f); T.Normalize((.5,),(.5,),inplace=True)(f.clone()); v2.Normalize([.5],[.25])(f)
T.Compose([T.ToTensor(),T.Normalize((.5,),(.5,))])(im); v2.Compose([v2.ToImage(),v2.ToDtype(torch.float32,True),v2.Normalize([.5],[.25])])(im)
"""
PER_PICTURE = """
F.resize(X,3); F.resize(X,(3,9)); F.resize(X,[9]); F.resize(X,3,M.NEAREST); F.resize(X,(9,11),M.BICUBIC); F.resize(X,3,max_size=4)
F.resize(X,(3,4),antialias=False); v2.functional.resize(X,(9,11),'bicubic'); v2.functional.resize(X,(3,4)); F.hflip(X); F.vflip(X)
F.crop(X,1,2,3,4); F.crop(X,-1,3,4,9); F.center_crop(X,3); F.center_crop(X,(7,3)); F.resized_crop(X,1,1,3,4,(2,5)); F.pad(X,1); F.pad(X,(1,2),fill=7)
F.pad(X,(1,2,0,1),padding_mode='edge'); F.pad(X,2,padding_mode='reflect'); F.pad(X,(2,1),padding_mode='symmetric'); F.pad(X,(-1,0,1,-2))
F.rgb_to_grayscale(X); F.rgb_to_grayscale(X,3); F.rotate(X,30); F.rotate(X,-45.5,M.BILINEAR); F.rotate(X,90,expand=True); F.rotate(X,30,fill=[5.])
F.rotate(X,20,center=[1,2]); v2.functional.rotate(X,90,expand=True); F.adjust_brightness(X,1.7); F.adjust_contrast(X,.3)
F.adjust_saturation(X,.4); F.adjust_saturation(X,2); F.adjust_hue(X,.1); F.adjust_hue(X,-.4); v2.functional.adjust_hue(X,.5); F.five_crop(X,(2,3)); F.ten_crop(X,3); F.get_dimensions(X); F.get_image_size(X)
"""
RANDOM = """
RandomCrop(3); RandomCrop((5,4)); RandomCrop(4,padding=1); RandomCrop((7,3),pad_if_needed=True); RandomCrop(5,padding=2,padding_mode='reflect')
RandomCrop(4,padding=(1,2,3,4),fill=9); RandomHorizontalFlip(); RandomVerticalFlip(.3); RandomRotation(30); RandomRotation((10,20),expand=True)
RandomResizedCrop(3); RandomResizedCrop((4,3),scale=(.5,1.),ratio=(3.,4.)); RandomGrayscale(.5); Pad(1); Grayscale(3); CenterCrop(3); Resize(4)
RandomApply([V.RandomCrop(4),V.RandomHorizontalFlip()],p=.6); RandomChoice([V.RandomCrop(4),V.RandomVerticalFlip(1.),V.CenterCrop(3)])
RandomChoice([V.RandomCrop(4),V.CenterCrop(3)],p=[.2,.8]); RandomOrder([V.RandomCrop(4),V.RandomHorizontalFlip(),V.Resize(5)])
ColorJitter(.3,.2,.4,.1); ColorJitter(brightness=(.5,.9)); ColorJitter(hue=.2)
Compose([V.Resize(4),V.RandomCrop(4,padding=1),V.RandomHorizontalFlip()])
"""
REST = """
[T.RandomErasing(1.)(f) for _ in 'abc']; [T.RandomErasing(.5,value='random')(f) for _ in 'abc']; T.RandomErasing(1.,value=(1,2,3))(f); [v2.RandomErasing(1.,value="random")(f) for _ in "abc"]; v2.RandomErasing(1.,value=(1,2,3))(f); v2.RandomErasing()
v2.RandomHorizontalFlip(1.)((im,3,f)); v2.RandomHorizontalFlip(1.)(im,3); v2.RandomHorizontalFlip(1.)(f,torch.tensor(1.)); v2.RandomCrop(3)([f,'a',{'x':f}])
U.make_grid(b); U.make_grid(b,nrow=2); U.make_grid(b,padding=0,pad_value=.5); U.make_grid(b,normalize=True); U.make_grid(b[:1]); U.make_grid(f[0])
U.make_grid(b,normalize=True,scale_each=True); U.make_grid(b,normalize=True,value_range=(.2,.7)); U.make_grid(f[:1]); U.make_grid(list(b),nrow=1)
D.FakeData(3,(3,4,4))[1]; D.FakeData(3,(1,4,4),transform=T.ToTensor(),target_transform=lambda t:t+1,random_offset=7)[2]
D.FakeData(3,(3,4,4)); D.FakeData(2,(1,2,2),transform=T.Compose([T.ToTensor(),T.Pad(1)]),target_transform=T.Lambda(abs)); saved(b); saved(f,normalize=True)
T.Compose([T.ToTensor(),T.Normalize((.5,),(.5,)),T.Resize(3),T.RandomCrop(3,padding=2),T.RandomHorizontalFlip(),T.Pad(2),T.Grayscale(),T.RandomRotation(10)])
T.Compose([T.Lambda(abs),T.CenterCrop(3),T.ConvertImageDtype(torch.float32),T.ToPILImage(),T.PILToTensor(),T.RandomResizedCrop(4),T.RandomErasing()])
v2.Compose([v2.ToImage(),v2.ToDtype(torch.float32,scale=True),v2.Normalize((.5,),(.5,)),v2.Resize(3),v2.RandomCrop(3,padding=2),v2.RandomRotation(10)])
v2.Compose([v2.Lambda(abs),v2.CenterCrop(3),v2.RandomVerticalFlip(.3),v2.Pad(2),v2.RandomResizedCrop(4),v2.Grayscale(),v2.ToPureTensor()])
T.ColorJitter(.3,.2,.4,.1); T.ColorJitter(); v2.ColorJitter(.3,(.2,1.)); T.RandomApply([T.ToTensor()]); T.RandomChoice([T.ToTensor()]); v2.RandomApply([v2.ToImage()]); v2.RandomChoice([v2.ToImage()]); v2.ToImage()(A[:2,:2])
"""
GRAPHS = """
T.Normalize([.5],[.5]); T.Resize(3); T.Resize((3,4),antialias=False); T.CenterCrop(3); T.CenterCrop(9); T.Pad(1); T.Pad(1,padding_mode='edge')
T.Pad(1,padding_mode='symmetric'); T.Grayscale(); T.RandomCrop(3); T.RandomHorizontalFlip(1.); T.RandomRotation(30)
T.RandomRotation(30,interpolation=M.BILINEAR); T.RandomResizedCrop(3); T.RandomErasing(1.); T.ColorJitter(.3); T.ColorJitter(saturation=.3)
v2.Normalize([.5],[.5]); v2.Resize(3); v2.Pad(1); v2.Grayscale(); v2.RandomCrop(3,padding=1); v2.RandomResizedCrop(3); v2.ColorJitter(contrast=.3)
"""
"""Of these the nodes are recorded, of a tensor that needs a gradient."""
ERRORS = """
T.ToTensor()(f); T.ToTensor()(A[0,0]); T.PILToTensor()(f); T.ToPILImage()(3); T.ToPILImage()(torch.zeros(5,3,3)); T.ToPILImage()(f[0,0])
T.ToPILImage('L')(u); T.ToPILImage()(A.astype('int64')); T.Normalize((.5,),(0.,))(f); T.Normalize((.5,),(.5,))(im); T.Normalize((.5,),(.5,))(u)
T.Normalize((.5,),(.5,))(f[0]); T.Resize((1,2,3)); T.Resize(3)(A); T.Resize((3,3),max_size=5)(f); T.Resize(3,max_size=3)(f)
T.Resize(3,interpolation='bilinear')(f); T.RandomCrop(9)(f); T.CenterCrop((1,2,3)); T.Pad((1,2,3)); T.Pad('a'); T.Pad(1,padding_mode='x')
T.Pad(1,fill='x'); T.Grayscale(2)(f); T.Grayscale()(u[:2]); T.RandomRotation(-1); T.RandomRotation((1,2,3)); T.Lambda(3); T.RandomChoice(3)
T.RandomHorizontalFlip(1)(3); F.convert_image_dtype(f,torch.int32); F.convert_image_dtype(im); v2.Compose([]); v2.Compose(3); v2.Normalize((.5,),(.5,))(im)
v2.ToDtype(3); v2.RandomHorizontalFlip(2); v2.RandomChoice([v2.ToImage()],p=[.1,.2]); v2.functional.to_image(3); v2.Pad((1,2,3)); v2.ToImage()(torch.zeros(3))
T.ColorJitter(-1); T.ColorJitter(hue=.7); T.ColorJitter("a"); T.ColorJitter((1,.5)); F.adjust_hue(f,.6); F.adjust_brightness(f,-1)
U.make_grid([1]); U.make_grid(3); U.make_grid(b,normalize=True,value_range=[1,2]); D.FakeData(3)[3]; F.five_crop(f,9); F.rotate(f,30,M.BICUBIC)
"""


def expressions() -> list[str]:
    """All of them."""
    found = [line.strip() for block in (CONVERSIONS, REST, ERRORS) for line in block.replace("\n", ";").split(";")]
    found += [f"nodes({line.strip()}(leaf()).grad_fn)" for line in GRAPHS.replace("\n", ";").split(";") if line.strip()]
    for line in PER_PICTURE.replace("\n", ";").split(";"):
        found += [line.strip().replace("X", picture) for picture in ("im", "gray", "f", "u")]
    for line in RANDOM.replace("\n", ";").split(";"):
        for api in ("T", "v2"):
            if line.strip():
                made = f"{api}.{line.strip().replace('V.', api + '.')}"
                found += [f"[{made}({picture}) for _ in 'abc']" for picture in ("im", "f")]
    return [line for line in dict.fromkeys(found) if line]


def world(torch: Any, torchvision: Any, v2: Any) -> dict[str, Any]:
    """The names in the expressions: small pictures of every kind, the same in both worlds."""
    import io

    import numpy as np
    from PIL import Image

    def saved(pictures: Any, **options: Any) -> Any:
        file = io.BytesIO()
        torchvision.utils.save_image(pictures, file, format="png", **options)
        return Image.open(file)

    rows, columns, channels = np.ogrid[:5, :6, :3]
    A = ((rows * 37 + columns * 71 + channels * 113 + rows * columns * 29) % 256).astype(np.uint8)
    im, u = Image.fromarray(A), torch.from_numpy(A).permute(2, 0, 1).contiguous()
    f = u.to(torch.float32) / 256
    transforms = torchvision.transforms
    return {
        "torch": torch,
        "T": transforms,
        "v2": v2,
        "F": transforms.functional,
        "U": torchvision.utils,
        "D": torchvision.datasets,
        "M": transforms.InterpolationMode,
        "A": A,
        "im": im,
        "gray": im.convert("L"),
        "one": im.convert("1"),
        "deep": Image.fromarray(A[:, :, 0].astype(np.uint16) * 257),
        "saved": saved,
        "u": u,
        "f": f,
        "wide": Image.fromarray(A[:, :, 0].astype(np.int32) * 999),
        "real": Image.fromarray(A[:, :, 0].astype(np.float32)),
        "b": torch.stack([f, f.flip(-1), f * 0.5]),
        "leaf": lambda: f.clone().requires_grad_(),
        "nodes": nodes,
    }


def nodes(node: Any) -> Any:
    """The names in a graph, each with those that it hangs on."""
    return None if node is None else [node.name(), *(nodes(below) for below, _ in node.next_functions)]


def plain(x: Any) -> Any:
    """A value as JSON holds it: pictures and tensors with their kind."""
    if type(x).__module__.startswith("PIL"):
        import numpy as np

        return ["PIL", x.mode, np.asarray(x).tolist()]
    if hasattr(x, "tolist"):
        numbers = x.detach().to("cpu").double() if "float" in str(x.dtype) else x
        return [type(x).__name__, str(x.dtype), list(x.shape), _rounded(numbers.flatten().tolist())]
    if isinstance(x, dict):
        return {name: plain(value) for name, value in x.items()}
    return [plain(y) for y in x] if isinstance(x, (list, tuple)) else x if isinstance(x, (int, str)) else repr(x)


def _rounded(numbers: list[Any]) -> list[Any]:
    return [float(f"{number:.5g}") if isinstance(number, float) else number for number in numbers]


def observe(expression: str, names: dict[str, Any]) -> Any:
    """Return what an expression gives, and the next random number; or its error's class and first sentence."""
    torch = names["torch"]
    torch.manual_seed(5)
    random.seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = plain(eval(expression, dict(names)))
        except Exception as error:
            return {"error": type(error).__name__, "text": str(error).split(". ")[0].split("\n")[0][:90]}
    return {"value": found, "next": round(torch.rand(1).item(), 6)}


if __name__ == "__main__":
    import torch
    import torchvision
    from torchvision.transforms import v2

    names = world(torch, torchvision, v2)
    lines = [f"{json.dumps(line)}: {json.dumps(observe(line, names), separators=(',', ':'))}" for line in expressions()]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
