# Backward passes: a part of fast_tape.pyx.

def collect(list stack, dict pending, dict leaves, Py_ssize_t oldest):
    """All nodes from the number `oldest` on that can be reached from those of `stack`: each waits in `pending`, leaves are
    counted in `leaves`."""
    cdef list order = []
    cdef tuple edges
    cdef PyObject *edge
    cdef Py_ssize_t i
    while stack:
        node = stack.pop()
        order.append(node)
        edges = edges_in(<PyObject *>node)
        for i in range(PyTuple_GET_SIZE(edges)):
            edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
            if edge == <PyObject *>None:
                continue
            target = <object>PyTuple_GET_ITEM(<tuple>edge, 0)
            if type_of(<PyObject *>target) == <PyObject *>AccumulateGrad:
                leaves[target] = leaves.get(target, ZERO) + 1
            elif target not in pending and (not oldest or PyLong_AsLong(SLOT(<PyObject *>target, SEQ)) >= oldest):
                pending[target] = None
                stack.append(target)
    return order


def in_order(list nodes):
    """Return whether every node has a higher number than those that it leads to."""
    cdef tuple edges
    cdef PyObject *edge
    cdef PyObject *target
    cdef Py_ssize_t i, number
    for node in nodes:
        number = PyLong_AsLong(SLOT(<PyObject *>node, SEQ))
        edges = edges_in(<PyObject *>node)
        for i in range(PyTuple_GET_SIZE(edges)):
            edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
            if edge != <PyObject *>None:
                target = <PyObject *>PyTuple_GET_ITEM(<tuple>edge, 0)
                if type_of(target) != <PyObject *>AccumulateGrad and PyLong_AsLong(SLOT(target, SEQ)) >= number:
                    return False
    return True


def leaves_behind(node):
    """The leaves that a node leads to."""
    cdef list reached = [node], leaves = []
    cdef set seen = {node}
    cdef tuple edges
    cdef PyObject *edge
    cdef Py_ssize_t i
    for node in reached:  # which grows
        if type_of(<PyObject *>node) == <PyObject *>AccumulateGrad:
            leaves.append(node)
        edges = edges_in(<PyObject *>node)
        for i in range(PyTuple_GET_SIZE(edges)):
            edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
            if edge == <PyObject *>None:
                continue
            target = <object>PyTuple_GET_ITEM(<tuple>edge, 0)
            if target not in seen:
                seen.add(target)
                reached.append(target)
    return leaves


def leading(list order, captures):
    """The nodes that lead to one of those of `captures`, out of all in the order in which they run."""
    cdef set found = set()
    cdef tuple edges
    cdef PyObject *edge
    cdef Py_ssize_t i
    for node in reversed(order):
        if node in captures:
            found.add(node)
            continue
        edges = edges_in(<PyObject *>node)
        for i in range(PyTuple_GET_SIZE(edges)):
            edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
            if edge == <PyObject *>None:
                continue
            target = <object>PyTuple_GET_ITEM(<tuple>edge, 0)
            if target in found or target in captures:
                found.add(node)
                break
    return found


cdef tuple wanted_edges(run, object node, Facts facts, tuple edges, set only, dict captures):
    """The edges that lead to one of the inputs (see `Pass.wanted_edges`)."""
    cdef Py_ssize_t i
    cdef bint fewer = False
    if facts is None:
        return run.wanted_edges(node) or edges
    wanted = []
    for i in range(PyTuple_GET_SIZE(edges)):
        edge = <object>PyTuple_GET_ITEM(edges, i)
        if edge is not None and (<tuple>edge)[0] not in only and (<tuple>edge)[0] not in captures:
            edge, fewer = None, True
        wanted.append(edge)
    if not fewer:
        return edges
    if not all_unchanged(node):
        check_versions(node)  # of what the others need, too
    return tuple(wanted)


cdef bint all_unchanged(object node) except -1:
    """Return whether all that a node saved are plain things at the versions that they were saved at."""
    cdef Py_ssize_t i
    cdef PyObject *item
    cdef PyObject *saved = SLOT(<PyObject *>node, SAVED)
    if type_of(saved) != <PyObject *>tuple:
        return False
    for i in range(PyTuple_GET_SIZE(<tuple>saved)):
        item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, i)
        if type_of(item) == <PyObject *>SavedResult:
            if not unchanged(node, i, SLOT(item, SAVED_COUNTER)):
                return False
        elif item != <PyObject *>None and not PyTuple_CheckExact(item):
            if not is_tensor(item) or not unchanged(node, i, SLOT(item, COUNTER)):
                return False
    return True


cdef bint misfits(tuple edges, object grads) except -1:
    """Return whether a recorded gradient has not the shape and dtype of what it goes to."""
    cdef Py_ssize_t i
    cdef PyObject *edge
    for i in range(min(PyTuple_GET_SIZE(edges), len(grads))):
        edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
        t = grads[i]
        if t is None or edge == <PyObject *>None:
            continue
        raw = SLOT(<PyObject *>t, RAW) if is_tensor(<PyObject *>t) else NULL
        if raw == NULL or not fits(raw, SLOT(<PyObject *>PyTuple_GET_ITEM(<tuple>edge, 0), LIKE)):
            return True
    return False


cdef object gradients(
    run, object node, Facts facts, object f, object g, tuple targets, tuple edges, bint recorded, Sums sums
):
    """Run a node without hooks, and return what it gives along those of its `targets` that are `edges`."""
    if facts is not None:
        grads = facts.gradients(node, f, g, edges, recorded, sums)
    elif CUSTOM != NULL and is_kind_of(type_of(<PyObject *>node), CUSTOM):
        grads = gradients_of_custom(node, f, g, recorded)
    else:
        compute = node._ag_run_recorded if recorded else node._ag_run_raw
        grads = compute(f, g) if edges is targets else compute(f, g, edges)
    return run.fitted(node, grads) if recorded and misfits(targets, grads) else grads


cdef int let_go(object node, Facts facts) except -1:
    """Let go of what a node saved."""
    frees = node._ag_frees if facts is None else facts.frees
    if frees:
        if frees is not True:
            node._ag_kept = frees(node._ag_saved)
        put_slot(<PyObject *>node, SAVED, <PyObject *>None)
    return 0


cdef object summed(object g, PyObject *like):
    """A gradient of rows added up, where `like` is one row of it; None where it is not so simple."""
    cdef cnp.ndarray array, made
    cdef cnp.npy_intp rows, columns
    cdef PyObject *shape
    if type_of(<PyObject *>g) != ndarray or not is_shape_and_dtype(like):
        return None
    array = <cnp.ndarray>g
    shape = PyTuple_GET_ITEM(<tuple>like, 0)
    if cnp.PyArray_NDIM(array) < 2 or PyTuple_GET_SIZE(<tuple>shape) != 1 or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return None
    columns = PyLong_AsLong(<PyObject *>PyTuple_GET_ITEM(<tuple>shape, 0))
    if cnp.PyArray_DIM(array, cnp.PyArray_NDIM(array) - 1) != columns or not cnp.PyArray_SIZE(array):
        return None
    if <PyObject *>cnp.PyArray_DESCR(array) != PyTuple_GET_ITEM(<tuple>like, 1):
        return None
    if columns == 1:
        return add_up(g, ZERO) if cnp.PyArray_NDIM(array) == 2 else None  # in pairs
    rows = cnp.PyArray_SIZE(array) // columns
    if cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT:
        made = cnp.PyArray_SimpleNew(1, &columns, cnp.NPY_FLOAT)
        add_rows[float](<float *>cnp.PyArray_DATA(array), <float *>cnp.PyArray_DATA(made), rows, columns)
    elif cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE:
        made = cnp.PyArray_SimpleNew(1, &columns, cnp.NPY_DOUBLE)
        add_rows[double](<double *>cnp.PyArray_DATA(array), <double *>cnp.PyArray_DATA(made), rows, columns)
    else:
        return None
    return made


cdef fused real:
    float
    double


cdef void add_rows(real *table, real *total, cnp.npy_intp rows, cnp.npy_intp columns) noexcept nogil:
    """One row after the other, as NumPy adds them up."""
    cdef cnp.npy_intp i, j
    for j in range(columns):
        total[j] = table[j]
    for i in range(1, rows):
        for j in range(columns):
            total[j] += table[i * columns + j]


cdef bint accumulated(run, PyObject *leaf, object g, bint shared, bint own) except -1:
    """Return whether a gradient could be given to a leaf at once: no hooks, an array laid out as the leaf is."""
    cdef PyObject *variable = SLOT(leaf, VARIABLE)
    cdef PyObject *meta
    cdef PyObject *raw
    cdef PyObject *have
    if not is_tensor(variable):
        return False
    meta = meta_in(variable)
    if meta == <PyObject *>None or SLOT(variable, EDGE) != <PyObject *>LEAF or SLOT(leaf, EXTRA) != <PyObject *>None:
        return False
    if SLOT(meta, HOOKS) != <PyObject *>None or SLOT(meta, POST_HOOKS) != <PyObject *>None or shared:
        return False
    if not fits(<PyObject *>g, SLOT(leaf, LIKE)) or id(g) in run.given_ids or adding.locked():
        return False
    raw, have = SLOT(variable, RAW), SLOT(meta, GRADIENT)
    if type_of(<PyObject *>g) == ndarray:
        if type_of(raw) != ndarray or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>raw):
            return False
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>g):
            return False
    if have != <PyObject *>None:
        return added(have, g)
    if type_of(<PyObject *>g) == ndarray and not (own and cnp.PyArray_BASE(<cnp.ndarray>g) == NULL):
        g = cnp.PyArray_NewCopy(<cnp.ndarray>g, cnp.NPY_CORDER)
    made = tensor_of(g)
    put_slot(meta, GRADIENT, <PyObject *>made)
    return True


cdef bint added(PyObject *have, object g) except -1:
    """Return whether a gradient could be added to the one that is there."""
    cdef PyObject *raw = SLOT(have, RAW) if type_of(have) == <PyObject *>Tensor else NULL
    if raw == NULL or dtype_of(raw) == NULL:
        return False
    held = <object>raw
    if type_of(raw) == ndarray:
        held = plus(held, g, True)
    else:
        held = held + g
        put_slot(have, RAW, <PyObject *>held)
    count_change(have)
    return True


cdef object plus(object a, object b, bint into_first):
    """The sum of two gradients, written into the first one if that is told; large ones share it among threads."""
    cdef PyObject *both[2]
    both[0], both[1] = <PyObject *>a, <PyObject *>b
    if are_large(both, 2) and threads.count > 1 and a.dtype == b.dtype:
        return threads.shared(np.add, (a, b), a if into_first else np.empty_like(a))
    if not into_first:
        return a + b
    a += b
    return a


cdef bint in_a_row(object old, object g) noexcept:
    """Return whether the sum of two gradients can be written over the second, which nobody else holds."""
    if type_of(<PyObject *>old) != ndarray or type_of(<PyObject *>g) != ndarray or cnp.PyArray_BASE(<cnp.ndarray>g) != NULL:
        return False
    return cnp.PyArray_ISCARRAY(<cnp.ndarray>g) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>old)


def walk(run, list order, f, bint plain, bint quick):
    """Run the nodes in order: `_walk` of backward_pass.py, which see."""
    cdef dict pending = run.pending, leaves = run.leaves, captures = run.captures
    cdef set only = run.only
    cdef bint keep = run.call.keeps_graph, recorded = run.recorded, is_leaf, straight
    cdef Sums sums = Sums(pending)
    cdef tuple edges, targets, edge
    cdef Facts facts
    cdef PyObject *extra
    cdef PyObject *like
    cdef Py_ssize_t i, count
    watch, root = run.call.watch, run.root
    ran = None if process_state.observer is None else run.call.ran
    straight = plain and only is None and ran is None
    for node in order:
        g = pending.pop(node)
        if only is not None and (node not in only or node in captures):
            if node is not root and node not in captures:
                continue
            runs, g = run.passed(node, g)
            if not runs:
                continue
        facts = facts_of(<PyObject *>node)
        if g is None and not (node._ag_takes_none if facts is None else facts.takes_none):
            run.run_undefined(node)
            continue
        if ran is not None:
            ran.append(node)
            thread_state.current = node
            if watch is not None and (node._ag_extra is None or not node._ag_extra.runs_something):
                watch(node, g)
        extra = SLOT(<PyObject *>node, EXTRA)
        targets = edges_in(<PyObject *>node)
        if quick and (extra == <PyObject *>None or type_of(extra) == <PyObject *>Versions):
            edges = targets
            if only is not None:
                edges = wanted_edges(run, node, facts, targets, only, captures)
            grads = gradients(run, node, facts, f, g, targets, edges, recorded, sums if plain else None)
        else:
            grads = run.run_node(node, g)
        if watch is not None:
            watch(None, grads)
        if not keep:
            let_go(node, facts)
        count = min(PyTuple_GET_SIZE(targets), len(grads))
        for i in range(count):
            if <PyObject *>PyTuple_GET_ITEM(targets, i) == <PyObject *>None:
                continue
            edge = <tuple>PyTuple_GET_ITEM(targets, i)
            target = <object>PyTuple_GET_ITEM(edge, 0)
            is_leaf = type_of(<PyObject *>target) == <PyObject *>AccumulateGrad
            g = grads[i]
            if g is None:
                if is_leaf:
                    run.deliver(target, 0, None)
                continue
            like = SLOT(<PyObject *>target, LIKE)
            held = None if like == NULL else <object>like
            if type_of(like) == <PyObject *>list:
                if plain and not fits(<PyObject *>g, <PyObject *>(<list>like)[edge[1]]):
                    g = run.fitting(node, grads, edge, g)
                    quick = quick and not run.elsewhere
                waiting = pending.get(target)
                if waiting is None:
                    waiting = pending[target] = [None] * len(<list>like)
                waiting[edge[1]] = g if waiting[edge[1]] is None else waiting[edge[1]] + g
                continue
            if plain and not fits(<PyObject *>g, like):
                fitted = summed(g, like)
                if fitted is None:
                    fitted = run.fitting(node, grads, edge, g)
                    quick = quick and not run.elsewhere  # the nodes that follow look at what they are given
                g, fitted = fitted, None
            old = pending.get(target)
            if old is None:
                pending[target] = g
            elif target in sums.targets:
                if g is not old:  # else a formula added to it
                    pending[target] = plus(old, g, True)
            else:
                # Held by `grads` and `g`: only the pass has it.
                if plain and g is not old and Py_REFCNT(<PyObject *>g) <= 2 and in_a_row(old, g):
                    pending[target] = plus(g, old, True)
                else:
                    pending[target] = plus(old, g, False)
                if type_of(<PyObject *>old) == ndarray:
                    sums.targets.add(target)
            if is_leaf:
                left = leaves[target] - 1
                leaves[target] = left
                if not left:
                    old = None
                    whole = pending.pop(target)
                    # Held by `grads`, `g` and `whole`: only the pass has it.
                    own = whole is not g or Py_REFCNT(<PyObject *>g) <= 3
                    shared = g is grads[-1] and edge is not <object>PyTuple_GET_ITEM(targets, PyTuple_GET_SIZE(targets) - 1)
                    if not (straight and accumulated(run, <PyObject *>target, whole, shared, own)):
                        run.finish_leaf(target, whole, shared, own)
                    whole = None
