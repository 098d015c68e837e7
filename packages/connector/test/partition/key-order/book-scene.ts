import { Buffer } from 'node:buffer'
import type { Work } from '../../../src/delivery/work.ts'
import { auditLedgers } from '../../../src/ledger/audit-ledgers.ts'
import { Ledger, ledgerStateAt } from '../../../src/ledger/ledger.ts'
import { foldWaiting } from '../../../src/partition/key-order/fold-waiting.ts'
import { KeyChains } from '../../../src/partition/key-order/key-chains.ts'
import { WaitingBook } from '../../../src/partition/key-order/waiting-book.ts'
import type {
  EntryAppend,
  OperatorRequest,
  RequestAppend,
  WaitingEntry,
} from '../../../src/partition/key-order/waiting-entry.ts'
import type { WaitingRead } from '../../../src/partition/key-order/waiting-record.ts'
import { workOf } from '../../delivery/work-of.ts'

/** A book over a source of ten records, of which those below `settled` are settled. */
export function bookScene({ settled = 10, moved = 0 }: { settled?: number; moved?: number } = {}) {
  const chains = new KeyChains()
  const ledger = new Ledger(ledgerStateAt(0n))
  const counts = { ...ledgerStateAt(0n).counts, ok: BigInt(settled - moved), retried: BigInt(moved) }
  const source = new Ledger({ ...ledgerStateAt(BigInt(settled)), since: 0n, counts })
  const works = new Map<number, Work>()
  for (let offset = settled; offset < 10; offset++) {
    source.fetched(BigInt(offset))
    works.set(offset, workOf({ offset: BigInt(offset), key: Buffer.from('a') }))
  }
  const book = new WaitingBook({
    ledger,
    chains,
    replaysFinished: 0n,
    isSourceSettled: (offset) => offset < source.watermark || source.state().settledAbove.has(offset),
    settleSource: (work, as) => {
      source.settle(work.offset, as)
      return true
    },
    workOf: ({ record }) => workOf({ ...record }),
    dueAtOf: ({ dueMs }) => dueMs,
  })
  let isBegun = false
  const taken = (reads: readonly WaitingRead[]): void => {
    for (const { at } of reads) ledger.fetched(at)
  }
  const appendOf = (entry: WaitingEntry, kind: 'HELD' | 'MARKER', offset?: number): EntryAppend => {
    const append = {
      entry,
      kind,
      record: { topic: 'w', key: null, value: null },
      source: offset === undefined ? undefined : works.get(offset),
      isDeath: kind === 'MARKER',
      isConfirmed: false,
    }
    book.appending(append, 0)
    return append
  }
  const moveOf = (request: OperatorRequest): RequestAppend => {
    const record = { topic: 'w', key: null, value: null }
    const append = { request, replayCount: request.copy.replayCount, record, isConfirmed: false }
    book.moving(append)
    return append
  }
  /** Sends whatever is lowest to the end of the log. */
  const moveLowest = (): EntryAppend | RequestAppend | undefined => {
    const lowest = book.lowestMovable()
    if (lowest?.kind === 'REQUEST') return moveOf(lowest.request)
    if (lowest === undefined) return undefined
    const append = { ...appendOf(lowest.entry, lowest.entry.state), isDeath: false }
    book.appending(append, 0)
    return append
  }
  const scan = (...reads: readonly WaitingRead[]): void => scanUpTo(10, ...reads)
  /** The source has no record from `end` on. */
  const scanUpTo = (end: number, ...reads: readonly WaitingRead[]): void => {
    isBegun = true
    taken(reads)
    book.begin(
      foldWaiting(reads, (offset) => offset < BigInt(settled)),
      BigInt(end),
    )
  }
  return {
    book,
    source,
    ledger,
    chains,
    appendOf,
    moveLowest,
    scan,
    scanUpTo,
    read: (...reads: readonly WaitingRead[]): boolean[] => {
      if (!isBegun) scan()
      return reads.map((read) => {
        taken([read])
        return book.read(read)
      })
    },
    /** Takes what may run next, and answers its offset and replay. */
    runs: (): WaitingEntry | undefined => {
      const step = chains.peek(0)
      if (step?.kind !== 'RUN' || step.entry === undefined) return undefined
      return step.entry
    },
    settled: (): number[] =>
      Array.from(ledger.state().settledAbove, Number)
        .concat(belowWatermark(ledger))
        .toSorted((a, b) => a - b),
    /** Which of the audit's equations do not hold. */
    unbalanced: () => auditLedgers(source.state(), book.state()),
  }
}

function belowWatermark(ledger: Ledger): number[] {
  return Array.from({ length: Number(ledger.watermark) }, (_, offset) => offset)
}
