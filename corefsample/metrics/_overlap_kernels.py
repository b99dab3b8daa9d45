"""Compiled loops of the clustering metrics: overlaps of key and response, and the certain part of their matching.

Legend of dimensions and names
    s : sample (a response)          i : mention of the key, of the response, or of both
    k : entity of the key            r : label of the response (a label without mentions is not an entity)
    e : entity of either side, those of the key first
    c : cell, the overlap of a key entity and a response entity that share a mention; at most n_mentions a sample
    members[indptr[k]:indptr[k+1]] : mentions of key entity k
    responses[s, i]                : label of mention i in sample s, -1 where the response has no such mention
"""

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._jit import kernel

# Columns of `totals`. Pairs are unordered; "shared" mentions are those of both key and response.
RESPONSE_MENTIONS, RESPONSE_ENTITIES, RESPONSE_PAIRS = 0, 1, 2
SHARED_MENTIONS, CELLS, CELL_PAIRS = 3, 4, 5
SHARED_KEY_PAIRS, SHARED_RESPONSE_PAIRS = 6, 7
B3_RECALL, B3_PRECISION = 8, 9
LEA_RECALL, LEA_PRECISION = 10, 11
N_TOTALS = 12


# --- overlaps ----------------------------------------------------------------------------------------------


@kernel
def overlaps(
    members: Ints,
    indptr: Ints,
    responses: Ints32,
    singletons: bool,
    response_sizes: Ints32,
    cell_keys: Ints32,
    cell_labels: Ints32,
    cell_sizes: Ints32,
    totals: Floats,
) -> None:
    """Fill the cells of each sample, key entity by key entity, and the sums over them.

    response_sizes[s, r] becomes the size of a response entity: 0 if no entity has label r, or if it is a singleton and
    singletons do not count. LEA: an entity of m mentions has weight m and m (m - 1) / 2 links; a cell of n mentions has
    n (n - 1) / 2 of them. A singleton has one link, with itself, which is correct if the other side has the same
    singleton.
    """
    shared = np.empty(response_sizes.shape[1], np.int64)
    cell_of_label = np.empty(response_sizes.shape[1], np.int64)
    for s in range(responses.shape[0]):
        row, size, total = responses[s], response_sizes[s], totals[s]
        total[:] = 0.0
        size[:] = 0
        for i in range(row.shape[0]):
            if row[i] >= 0:
                size[row[i]] += 1
        for r in range(size.shape[0]):
            if size[r] == 1 and not singletons:
                size[r] = 0
            if size[r] > 0:
                total[RESPONSE_MENTIONS] += size[r]
                total[RESPONSE_ENTITIES] += 1
                total[RESPONSE_PAIRS] += size[r] * (size[r] - 1) / 2
        shared[:] = 0
        cell_of_label[:] = -1
        n_cells = 0
        for k in range(indptr.shape[0] - 1):
            first = n_cells
            for t in range(indptr[k], indptr[k + 1]):
                r = row[members[t]]
                if r < 0 or size[r] == 0:
                    continue
                if cell_of_label[r] < first:  # the cell of r, if any, belongs to an earlier key entity
                    cell_of_label[r] = n_cells
                    cell_keys[s, n_cells] = k
                    cell_labels[s, n_cells] = r
                    cell_sizes[s, n_cells] = 0
                    n_cells += 1
                cell_sizes[s, cell_of_label[r]] += 1
                shared[r] += 1
            key_size, n_shared = indptr[k + 1] - indptr[k], 0
            for c in range(first, n_cells):
                n, other_size = cell_sizes[s, c], size[cell_labels[s, c]]
                n_shared += n
                total[CELL_PAIRS] += n * (n - 1) / 2
                total[B3_RECALL] += n * n / key_size
                total[B3_PRECISION] += n * n / other_size
                self_link = 1.0 if key_size == 1 and other_size == 1 else 0.0
                total[LEA_RECALL] += self_link if key_size == 1 else n * (n - 1) / (key_size - 1)
                total[LEA_PRECISION] += self_link if other_size == 1 else n * (n - 1) / (other_size - 1)
            total[SHARED_MENTIONS] += n_shared
            total[SHARED_KEY_PAIRS] += n_shared * (n_shared - 1) / 2
        for r in range(shared.shape[0]):
            total[SHARED_RESPONSE_PAIRS] += shared[r] * (shared[r] - 1) / 2
        total[CELLS] = n_cells


# --- matching ----------------------------------------------------------------------------------------------


@kernel
def match_certain(
    keys: Ints32, responses: Ints32, n_cells: Ints, weights: Floats, n_entities: int, matched_weights: Floats
) -> None:
    """Match the entities of each cell that is at least as heavy as the heaviest other cells of both together.

    Some heaviest matching has such a cell: one without it stays as heavy if the cell replaces the (at most two) cells
    that exclude it. matched_weights[s] becomes the matched weight; the weights of cells with a matched entity become 0.
    Cells matched in a round still count as others: this matches fewer cells, never a wrong one.
    """
    best, second, best_cell = np.empty(n_entities), np.empty(n_entities), np.empty(n_entities, np.int64)
    matched = np.empty(n_entities, np.bool_)
    for s in range(matched_weights.shape[0]):
        matched[:] = False
        matched_weights[s], last_weight = 0.0, -1.0
        while matched_weights[s] > last_weight:
            last_weight = matched_weights[s]
            best[:] = 0.0
            second[:] = 0.0
            best_cell[:] = -1
            for c in range(n_cells[s]):
                k, r = keys[s, c], responses[s, c]
                weight = weights[s, c] = 0.0 if matched[k] or matched[r] else weights[s, c]
                for e in (k, r):
                    if weight > best[e]:
                        second[e] = best[e]
                        best[e] = weight
                        best_cell[e] = c
                    elif weight > second[e]:
                        second[e] = weight
            for c in range(n_cells[s]):
                k, r = keys[s, c], responses[s, c]
                if matched[k] or matched[r]:
                    continue
                other_of_k = second[k] if best_cell[k] == c else best[k]
                other_of_r = second[r] if best_cell[r] == c else best[r]
                if weights[s, c] >= other_of_k + other_of_r:
                    matched[k] = True
                    matched[r] = True
                    matched_weights[s] += weights[s, c]
