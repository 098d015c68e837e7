/** The store as one process calls it: records the owner name it uses and the results of its finishes (I20). */

import { type OutboxStore } from '@waybill/outbox'
import { type LeaseFence, modeShard, type ReadLimits, RowsLockedError, soleNodeShard } from '@waybill/outbox/internal'
import type { Ground } from './ground.ts'

type FinishKind = 'success' | 'failure' | 'dead'

/** The sum of the results a process received, to compare with its metrics. */
export interface FinishTally {
  success: number
  failure: number
  dead: number
  fenced: number
  /** Rows of finishes that gave up because one of them was locked. Such a row may be given up with its lease. */
  locked: number
  /** Rows of finishes that failed and will be repeated: they keep their place in memory until one succeeds. */
  inDoubt: number
}

export function watchStore(
  store: OutboxStore,
  process: string,
  { ownership, court, program, book, bounds }: Pick<Ground, 'ownership' | 'court' | 'program' | 'book' | 'bounds'>,
  tally: FinishTally,
): OutboxStore {
  /** Rows of finishes without a response: when a retry does not find them, they are not fenced. */
  const unanswered = new WeakMap<LeaseFence, Set<string>>()

  const counted = async (
    kind: FinishKind,
    rows: readonly { readonly seq: bigint }[],
    fence: LeaseFence,
    finish: () => Promise<bigint[]>,
  ): Promise<bigint[]> => {
    const inDoubt = unanswered.get(fence) ?? new Set()
    unanswered.set(fence, inDoubt)
    const seqs = rows.map(({ seq }) => seq)
    const nameOf = (seq: bigint): string => `${kind} ${seq}`
    try {
      const changed = await finish()
      tally[kind] += changed.length
      const found = new Set(changed)
      for (const seq of seqs) {
        const wasInDoubt = inDoubt.delete(nameOf(seq))
        if (wasInDoubt) tally.inDoubt--
        if (found.has(seq)) continue
        if (wasInDoubt) court.reach('finish: its answer is lost and it was carried out')
        else tally.fenced++
      }
      return changed
    } catch (error) {
      if (error instanceof RowsLockedError) tally.locked += seqs.length
      else
        for (const name of seqs.map(nameOf).filter((each) => !inDoubt.has(each))) {
          inDoubt.add(name)
          tally.inDoubt++
        }
      throw error
    }
  }

  const limited = async <R extends { readonly bytes: number }>(query: ReadLimits, read: () => Promise<R[]>) => {
    bounds.reading(process, query)
    const rows = await read()
    if (rows.reduce((sum, { bytes }) => sum + bytes, 0) >= query.maxBytes)
      court.reach('read: rows are left out because of their size')
    return rows
  }

  return {
    ...store,
    pollPending: (connection, query) => limited(query, () => store.pollPending(connection, query)),
    readShards: (connection, query) => limited(query, () => store.readShards(connection, query)),
    insertNew: async (connection, events, options) => {
      if (options.lease !== null) ownership.learn(options.lease.owner, process)
      const inserted = await store.insertNew(connection, events, options)
      for (const { eventId } of events) book.of(eventId).mayBeUndone = !inserted.areBoundToCommit
      return inserted
    },
    findPending: async (connection, seqs) => {
      const found = await store.findPending(connection, seqs)
      if (found.size < seqs.length) court.reach('savepoint: a row is queried and is gone')
      return found
    },
    claimPending: async (connection, lease, query) => {
      ownership.learn(lease.owner, process)
      try {
        return await limited(query, () => store.claimPending(connection, lease, query))
      } catch (error) {
        court.reach('claim: its answer is lost')
        throw error
      }
    },
    takeShards: async (connection, owner, shards, timeoutMs) => {
      // The lease of a mode belongs to every node.
      if (!shards.includes(modeShard)) ownership.learn(owner, process)
      const taken = await store.takeShards(connection, owner, shards, timeoutMs)
      for (const { shard, version } of taken) if (shard === soleNodeShard) ownership.tookTable(version, process)
      return taken
    },
    earlierRows: async (connection, parts) => {
      const rows = await store.earlierRows(connection, parts)
      if (rows.length > 0) court.reach('commit: a row appears below what was read of its key')
      return rows
    },
    openNumbers: async (connection, above) => (program.tellsOpenNumbers ? store.openNumbers(connection, above) : null),
    markDone: (connection, rows, fence, options) =>
      counted('success', rows, fence, () => store.markDone(connection, rows, fence, options)),
    markRetry: (connection, rows, fence) =>
      counted('failure', rows, fence, () => store.markRetry(connection, rows, fence)),
    markDead: (connection, rows, fence) => counted('dead', rows, fence, () => store.markDead(connection, rows, fence)),
  }
}
