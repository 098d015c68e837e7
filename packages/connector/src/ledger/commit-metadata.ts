/**
 * What stands beside a committed offset, as text: `wb1 s=… o=… r=… d=… k=… h=… b=…`, and for a waiting topic the same
 * with `w` in front, its position `w=` and the two counts `wp=` and `wn=` (D22); `j=…` where an operator moved the position.
 *
 * A wire format: other versions read it. Fields are only ever added, in any order, and unknown ones are passed over.
 */

import { auditLedgers } from './audit-ledgers.ts'
import type { LedgerCounts, LedgerState, WaitingLedgerState } from './ledger.ts'
import { OffsetSet } from './offset-set.ts'
import { decodeMove, encodeMove } from './position-move.ts'

/** What the group remembers of a partition. */
export interface CommittedText {
  readonly offset: bigint | null
  readonly metadata: string | null
}

/** The ledgers that a commit carries. */
export interface CommittedLedgers {
  readonly source: LedgerState
  readonly waiting?: WaitingLedgerState
}

/** Why a commit tells nothing about what was settled: it is a stranger's, or it was changed. */
export interface UnreadableCommit {
  readonly problem: string
}

const version = 'wb1'

/** The source's position is not in it: it is the offset that is committed. */
export function encodeCommitMetadata(source: LedgerState, waiting?: WaitingLedgerState): string {
  const fields = [version, `s=${source.since}`, ...countFields('', source.counts), `b=${source.settledAbove.encode()}`]
  if (waiting !== undefined)
    fields.push(
      `w=${waiting.position}`,
      `ws=${waiting.since}`,
      ...countFields('w', waiting.counts),
      `wp=${waiting.replaysFinished}`,
      `wn=${waiting.waitingNow}`,
      `wb=${waiting.settledAbove.encode()}`,
    )
  if (source.moved !== undefined) fields.push(`j=${encodeMove(source.moved)}`)
  return fields.join(' ')
}

/**
 * Reads what {@link encodeCommitMetadata} wrote. Text that is missing, foreign or does not fit the offset is a problem
 * and never an error: anybody may set a group's offsets, and counting then begins anew.
 */
export function decodeCommitMetadata({ offset, metadata }: CommittedText): CommittedLedgers | UnreadableCommit {
  if (offset === null) return { problem: 'nothing was committed' }
  if (metadata === null || metadata === '') return { problem: 'the commit has no metadata' }
  const fields = new MetadataFields(metadata)
  const ledgers = readLedgers(offset, fields)
  const problem = fields.problem ?? misfitOf(ledgers)
  return problem === undefined ? ledgers : { problem }
}

/** The fields of a text. What cannot be read counts as zero, and the first such thing is the problem. */
class MetadataFields {
  problem: string | undefined
  readonly #texts = new Map<string, string>()

  constructor(metadata: string) {
    const [first, ...pairs] = metadata.split(' ')
    if (first !== version) this.problem = `the metadata is not Waybill's: ${JSON.stringify(metadata.slice(0, 40))}`
    for (const pair of pairs) {
      const name = pair.split('=', 1)[0] as string
      if (this.#texts.has(name)) this.problem ??= `the metadata has ${name}= twice`
      this.#texts.set(name, pair.slice(name.length + 1))
    }
  }

  has(name: string): boolean {
    return this.#texts.has(name)
  }

  number(name: string): bigint {
    const text = this.text(name)
    if (decimal.test(text) && BigInt(text) <= highestOffset) return BigInt(text)
    this.problem ??= `the metadata has no number in ${name}=`
    return 0n
  }

  set(name: string, position: bigint): OffsetSet {
    const set = OffsetSet.decode(position, this.text(name))
    if (set === undefined) this.problem ??= `the metadata has no set of offsets in ${name}=`
    return set ?? OffsetSet.empty(position)
  }

  text(name: string): string {
    const text = this.#texts.get(name)
    if (text === undefined) this.problem ??= `the metadata has no ${name}=`
    return text ?? ''
  }
}

const highestOffset = 2n ** 63n - 1n

/** Nineteen digits hold every offset. */
const decimal = /^\d{1,19}$/

function readLedgers(offset: bigint, fields: MetadataFields): CommittedLedgers {
  const moved = fields.has('j') ? decodeMove(fields.text('j')) : undefined
  const source = { ...readLedger(offset, '', fields), ...(moved === undefined ? {} : { moved }) }
  if (!fields.has('w')) return { source }
  const waiting = {
    ...readLedger(fields.number('w'), 'w', fields),
    replaysFinished: fields.number('wp'),
    waitingNow: fields.number('wn'),
  }
  return { source, waiting }
}

function readLedger(position: bigint, prefix: '' | 'w', fields: MetadataFields): LedgerState {
  const since = fields.number(`${prefix}s`)
  return { since, position, counts: readCounts(prefix, fields), settledAbove: fields.set(`${prefix}b`, position) }
}

/** Counts that do not add up to the position belong to another one. What the third equation says is for the audit. */
function misfitOf({ source, waiting }: CommittedLedgers): string | undefined {
  const misfit = auditLedgers(source, waiting).find(({ equation }) => equation !== 'ORIGINALS')
  if (misfit === undefined) return undefined
  const what = misfit.equation === 'SOURCE' ? 'offset' : 'waiting position'
  return `the ${what} says ${misfit.due} settled, the counts say ${misfit.accounted}`
}

const countLetters = { ok: 'o', retried: 'r', dead: 'd', skipped: 'k', holes: 'h' } as const

const names = Object.keys(countLetters) as (keyof LedgerCounts)[]

function countFields(prefix: '' | 'w', counts: LedgerCounts): string[] {
  return names.map((name) => `${prefix}${countLetters[name]}=${counts[name]}`)
}

function readCounts(prefix: '' | 'w', fields: MetadataFields): LedgerCounts {
  const read = (name: keyof LedgerCounts): bigint => fields.number(`${prefix}${countLetters[name]}`)
  return {
    ok: read('ok'),
    retried: read('retried'),
    dead: read('dead'),
    skipped: read('skipped'),
    holes: read('holes'),
  }
}
