/**
 * Encodes ledgers as the metadata of a committed offset: `wb1 s=… o=… r=… d=… k=… h=… b=…`. A waiting topic adds the
 * same fields prefixed with `w`, its position `w=`, and the counts `wp=` and `wn=`. `j=…` records the last position
 * move.
 *
 * This is a wire format that other versions read. Fields may stand in any order, and unknown fields are ignored. A new field
 * needs a default for commits without it; a new count also breaks the sum that older versions check, so it needs a new
 * version.
 */

import { auditLedgers } from './audit-ledgers.ts'
import type { LedgerCounts, LedgerState, WaitingLedgerState } from './ledger.ts'
import { OffsetSet } from './offset-set.ts'
import { decodeMove, encodeMove } from './position-move.ts'

/** The committed offset of a partition and its metadata, as Kafka returns them. */
export interface CommittedText {
  readonly offset: bigint | null
  readonly metadata: string | null
}

/** The ledgers of one commit. */
export interface CommittedLedgers {
  readonly source: LedgerState
  readonly waiting?: WaitingLedgerState
}

/** The reason a commit cannot be read: another program wrote it, or it was altered. */
export interface UnreadableCommit {
  readonly problem: string
}

const version = 'wb1'

/** Encodes both ledgers. The position of the source is omitted, because it is the committed offset itself. */
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
 * Decodes the output of {@link encodeCommitMetadata}. Returns a problem, and never throws, if the metadata is missing,
 * foreign, or does not match the offset: any tool may set a group's offsets, and counting then restarts.
 */
export function decodeCommitMetadata({ offset, metadata }: CommittedText): CommittedLedgers | UnreadableCommit {
  if (offset === null) return { problem: 'nothing was committed' }
  if (metadata === null || metadata === '') return { problem: 'the commit has no metadata' }
  const fields = new MetadataFields(metadata)
  const ledgers = readLedgers(offset, fields)
  const problem = fields.problem ?? misfitOf(ledgers)
  return problem === undefined ? ledgers : { problem }
}

/** The parsed fields of the metadata. An unreadable field counts as zero, and the first one sets `problem`. */
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

/** Nineteen digits are enough for any 63-bit offset. */
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

/**
 * Returns why the counts do not match the position, which means they belong to another commit. The audit alone checks
 * ORIGINALS.
 */
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
