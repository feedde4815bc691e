# cython: language_level=3, binding=False
"""The compiled form of `hooks._operation` for what most operations are: plain tensors given and made, nothing changed.

Everything else goes the way of `hooks.py` and `connection.py`, which these functions leave before they have noted
anything. Both tell the same.
"""

from functools import partial

import torch

from autograph_cli.engines.pytorch import hooks, notes, private, private_compiler
from autograph_cli.engines.pytorch.connection import OF_KERNELS
from autograph_cli.engines.pytorch.node_types import NodeType, dispatched, like_all, like_of
from autograph_cli.engines.pytorch.nodes import next_number
from autograph_cli.engines.pytorch.notes import Note
from autograph_cli.engines.pytorch.private import LEAF
from autograph_cli.engines.pytorch.saved import dtype_and_device, is_custom, names_kept, note_kept, plain as as_plain, storage_of
from autograph_cli.engines.values import places

cdef object Tensor = torch.Tensor, Parameter = torch.nn.Parameter, strided = torch.strided
cdef object process = hooks._process, thread = hooks._thread, in_python = hooks._operation, noted = hooks._noted
cdef object compiling = private_compiler.compiling_frames, intercepted = private.intercepted, compute = private.compute
cdef object sequence_number = private.sequence_number, is_recording = torch.is_grad_enabled
cdef object dispatch_modes = private.modes_on, in_pass = private.in_pass, Untouched = torch._C.DisableTorchFunction
cdef object contexts = private.contexts, compiler = private.compiler, tracing = private.tracing_state, transform = torch._C._functorch.peek_interpreter_stack
cdef object packing = private.packing_now
cdef object address_of = getattr(torch._C, "_storage_address", storage_of)
cdef object plain_types = (bool, int, float, complex, str, torch.dtype), numbers = (bool, int, float)
cdef object Forced = torch._C._ForceDispatchKeyGuard, Below = torch._C._AutoDispatchBelowADInplaceOrView
cdef object included = torch._C._dispatch_tls_local_include_set, excluded = torch._C._dispatch_tls_local_exclude_set
cdef object in_inference = torch.is_inference_mode_enabled, FACTORIES = private.FACTORIES
cdef dict NOTES = notes._notes
cdef dict LIKES = {}
"""One of all equal types: of a chain of nodes each would take as much memory as all else that is noted."""
cdef int MANY = 1_024
cdef str NONE = ""


cdef class Kind:
    """The facts on all nodes of a class that an operation makes."""

    cdef object node_type
    cdef tuple kept
    cdef bint is_plain


cdef class Facts:
    """The facts on all calls of an operation."""

    cdef bint told, unseen, exchanges
    cdef tuple names
    cdef dict defaults, kinds
    cdef object found, run


cdef Facts facts_of(operation):
    cdef Facts facts = Facts()
    facts.found, facts.run, facts.defaults, facts.kinds = operation.found, operation.run, operation.defaults, {}
    facts.names = tuple(operation.defaults)
    facts.exchanges = operation.names[0] == "c10d"
    facts.unseen = operation.gives_nothing
    facts.told = not (operation.changes or operation.gives_nothing)
    operation.facts = facts
    return facts


cdef class Hidden:
    """Makes a new tensor where no derivative is recorded, if that is where PyTorch has called for it."""

    cdef object run

    def __call__(self, *args, **kwargs):
        if not thread.hides:
            return self.run(*args, **kwargs)
        with Below():
            return self.run(*args, **kwargs)


def operation(operation, *args, **kwargs):
    """Runs an operation, and tells of the node that it made.

    What makes a new tensor comes from where PyTorch records no derivative. A handler of a signal runs wherever Python
    does, and would have none: so derivatives are recorded here, but for the operation itself.
    """
    cdef str name = (<tuple>operation.names)[1]
    if name not in FACTORIES and not name.endswith("_like"):
        return heard(operation, args, kwargs)
    cdef object before = thread.hides, keys = excluded()
    cdef object hidden = keys & HIDDEN
    thread.hides = hidden == HIDDEN and not in_inference()
    try:
        if not thread.hides:
            return heard(operation, args, kwargs)
        with Forced(included(), keys - hidden):
            if operation.found is None:
                operation.find()
            if type(operation.run) is not Hidden:
                operation.run = hiding(operation.run)
            return heard(operation, args, kwargs)
    finally:
        thread.hides = before


cdef object hiding(run):
    cdef Hidden made = Hidden()
    made.run = run
    return made


cdef object keys_hidden():
    """The keys that PyTorch passes over where it makes a new tensor."""
    before = excluded()
    with Below():
        return excluded() - before


cdef object HIDDEN = keys_hidden()


cdef object heard(operation, tuple args, dict kwargs):
    cdef Facts facts
    cdef object engine = process.engine
    if operation.found is None or engine is None or not process.follows or process.exchanges or engine.watcher is not None:
        return in_python(operation, *args, **kwargs)
    facts = <Facts?>operation.facts if operation.facts is not None else facts_of(operation)
    if facts.exchanges or engine.measured or thread.carries or thread.apart or thread.runs is not False or thread.engine is not engine:
        return in_python(operation, *args, **kwargs)
    cdef bint records = is_recording()
    cdef bint unseen = not records and (facts.unseen or in_pass() or engine.listener.updates)
    if not unseen and (not facts.told or packing() is not None or is_apart()):
        return in_python(operation, *args, **kwargs)
    frames = compiling(None)
    intercepted(False)
    try:
        before = sequence_number()
        try:
            result = facts.run(*args, **kwargs)
        except RuntimeError as error:
            if "Unable to cast" not in str(error):
                raise
            result = compute(operation, args, kwargs)
        if not unseen:
            tell(engine, operation, facts, args, kwargs, result, records, sequence_number() != before)
        return result
    finally:
        if process.follows:
            intercepted(True)
        compiling(frames)


cdef bint is_apart() except -1:
    """Return whether modes, transforms, tracers or compilers stand between what runs and the script."""
    if dispatch_modes() or transform() is not None or compiler["_is_compiling_flag"]:
        return True
    return getattr(contexts, "tracing_context", None) is not None or tracing() is not None


cdef int tell(engine, operation, Facts facts, tuple args, dict kwargs, result, bint records, bint made) except -1:
    cdef list given = []
    cdef object node = None, kind = None, listener = engine.listener, lock = listener.lock
    made = made or (records and hooks._has_gradient(result))
    if not made and in_pass():
        return 0
    with Untouched():
        if made and are_plain(args, given) and (not kwargs or are_plain(tuple(kwargs.values()), given)):
            node = node_of(result)
        if node is not None and not node.metadata and id(node.metadata) not in NOTES:
            kind = kind_of(facts, node)
        if kind is not None:
            lock.acquire()
            try:
                engine._operation = facts.found
                computed(engine, listener, <Kind>kind, facts, given, args, kwargs, result, node)
                engine._operation = None
            except Exception as error:
                listener.failed(error)
            finally:
                lock.release()
            return 0
    noted(engine, operation, args, kwargs, None, result, made, False)
    return 0


cdef bint are_plain(tuple values, list given) except -1:
    """Collect the tensors among values; return whether all are of PyTorch's own classes."""
    cdef object value, item, cls
    for value in values:
        cls = type(value)
        if cls is Tensor or cls is Parameter:
            given.append(value)
        elif cls is list or cls is tuple:
            for item in value:
                cls = type(item)
                if cls is Tensor or cls is Parameter:
                    given.append(item)
                elif isinstance(item, (Tensor, list, tuple)):
                    return False
        elif isinstance(value, (Tensor, list, tuple)):
            return False
    return True


cdef object history(x):
    try:
        return x.grad_fn
    except RuntimeError:
        return None


cdef object node_of(result):
    """The one node that has made a tensor, or all of those that have one; None where that is not plain."""
    cdef object node = None, made, each
    if type(result) is Tensor:
        return history(result) if result.requires_grad else None
    if type(result) is not tuple and type(result) is not list:
        return None
    for each in result:
        if type(each) is not Tensor:
            if isinstance(each, (Tensor, list, tuple)):
                return None
        elif each.requires_grad:
            made = history(each)
            if node is None:
                node = made
            elif made is not node:
                return None
    return node


cdef object kind_of(Facts facts, node):
    cdef Kind kind = facts.kinds.get(type(node))
    if kind is None:
        kind = facts.kinds[type(node)] = Kind()
        kind.is_plain = type(node).__name__ == node.name() and not is_custom(type(node))
        if kind.is_plain:
            kind.node_type = NodeType.of(node, dispatched(facts.found), False)
            kind.kept = names_kept(type(node))
    return kind if kind.is_plain else None


cdef int computed(engine, listener, Kind kind, Facts facts, list given, tuple args, dict kwargs, result, node) except -1:
    """`PyTorch.computed` and what it calls."""
    cdef object tensors = listener.tensors, known = listener.known, token, like, x
    cdef tuple following = leads_to(engine, tensors, known, node.next_functions), given_as
    cdef list before = [], rows = []
    for x in given:
        before.append(taken(engine, listener, tensors, known, x))
    number = next_number()
    token = node.metadata
    if type(result) is Tensor and not result.is_nested:
        like = ((result.dtype, tuple(result.shape), result.device),)
        if len(LIKES) > MANY:
            LIKES.clear()
        like = LIKES.setdefault(like, like)
    else:
        like = like_all(result, node)
    note = NOTES[id(token)] = Note(token, number, False, kind.node_type, NONE, None)
    if len(NOTES) > notes._limit:
        notes.sweep()
    note.like = like_of(node) if like is None else like
    keeps(engine, tensors, known, kind, node, number, rows)
    cdef tuple constants = None
    if rows:
        note.looked = tuple(rows)
        constants = tuple([row for row in rows if (<tuple>row)[1] is None])
        constants = note.looked if len(constants) == len(rows) else constants or None
    given_as = tuple(before or [output for output in following if output is not None])
    listener.operation(
        number, note, kind.node_type, note.like, following, following if given_as == following else given_as, NONE, thread.calls,
        constants, plain(facts, args, kwargs),
    )
    if like is not None and type(result) is not Tensor:
        engine._also(result, node)
    return 0


cdef object number_of(engine, known, node):
    """`Nodes.number` of a node that is no leaf."""
    cdef dict metadata = node.metadata
    cdef object note = None
    if not metadata:
        note = NOTES.get(id(metadata))
        if note is not None and note.number and note.number in known:
            return note.number
    return engine.number(node)


cdef object leaf_number(tensors, variable):
    """`Nodes.number` of the node of a leaf."""
    held = tensors.get(id(variable))
    if held is not None and held.number >= 0 and not held.nr and held.ref() is variable:
        return held.number
    return None


cdef tuple leads_to(engine, tensors, known, tuple edges):
    cdef list found = []
    cdef object node, nr, number
    for node, nr in edges:
        if node is None:
            number = None
        elif type(node) is LEAF:
            number = leaf_number(tensors, node.variable)
            if number is None:
                number = engine.number(node)
        else:
            number = number_of(engine, known, node)
        found.append((number, nr) if nr and number is not None else number)
    return tuple(found)


cdef object taken(engine, listener, tensors, known, x):
    """`Nodes._take`."""
    cdef object node, output, nr
    if listener.changed or not x.requires_grad:
        return engine._take(x)
    node = history(x)
    if node is None:
        output = leaf_number(tensors, x)
        return engine._take(x) if output is None else output
    output, nr = number_of(engine, known, node), x.output_nr
    return (output, nr) if nr else output


cdef int keeps(engine, tensors, known, Kind kind, node, number, list rows) except -1:
    """`saved.look` of a node whose tensors no hook packs."""
    cdef object name, item, part
    cdef Py_ssize_t place
    for name, _ in kind.kept:
        try:
            item = getattr(node, name)
        except RuntimeError:  # it was freed before anybody asked
            continue
        if (type(item) is tuple or type(item) is list) and has_tensors(item):
            for place, part in enumerate(item):
                keep(engine, tensors, known, node, number, f"{name}[{place}]", part, rows)
        else:
            keep(engine, tensors, known, node, number, name, item, rows)
    return 0


cdef bint has_tensors(items) except -1:
    for item in items:
        if isinstance(item, Tensor):
            return True
    return False


cdef int keep(engine, tensors, known, node, number, name, item, list rows) except -1:
    """`saved.note_kept`."""
    cdef object output, made, nr, storage
    if item is None:
        return 0
    if type(item) is not Tensor and type(item) is not Parameter:
        if isinstance(item, Tensor):
            note_kept(rows, name, item, partial(engine._kept_output, node, number))
        else:
            rows.append((name, None, plain_value(item), 0, 0, 0, None))
        return 0
    if item.layout is not strided or item.is_nested:
        note_kept(rows, name, item, partial(engine._kept_output, node, number))
        return 0
    made = history(item)
    if made is node:
        nr = item.output_nr
        output = (number, nr) if nr else number
    elif made is None:
        output = engine._held(item) if id(item) in tensors else None
    else:
        note = None if made.metadata else NOTES.get(id(made.metadata))
        if note is not None and note.number and note.number in known:
            nr = item.output_nr
            output = (note.number, nr) if nr else note.number
        else:
            output = engine._output(item)
    try:
        storage = address_of(item)
    except (NotImplementedError, RuntimeError):
        storage = id(item)
    rows.append((
        name, dtype_and_device(item.dtype, item.device), tuple(item.shape), storage, item.nbytes,
        0 if item.is_inference() else item._version, output,
    ))
    return 0


cdef object plain_value(item):
    """`saved.plain`."""
    if type(item) is float or type(item) is bool:
        return item
    if type(item) is tuple or type(item) is list:
        return tuple([plain_value(part) for part in item])
    return as_plain(item)


cdef tuple plain(Facts facts, tuple args, dict kwargs):
    """`hooks._plain` without what no script gives."""
    cdef list found = []
    cdef Py_ssize_t place
    for place in range(min(len(args), len(facts.names))):
        add_plain(facts, found, facts.names[place], args[place])
    for name in kwargs:
        add_plain(facts, found, name, kwargs[name])
    return tuple(found)


cdef int add_plain(Facts facts, list found, name, value) except -1:
    cdef object shown = value
    if value is None or type(value) is Tensor or type(value) is Parameter or name in OF_KERNELS:
        return 0
    if isinstance(value, (list, tuple)):
        shown = places(value) or value
        if shown is value:
            for item in value:
                if not isinstance(item, numbers):
                    return 0
    elif not isinstance(value, plain_types):
        return 0
    if shown != facts.defaults.get(name):
        found.append((name, shown))
    return 0
