/** Reads the metadata of a commit without the code that wrote it. */

import { Buffer } from 'node:buffer'

/** One ledger in a commit. */
export interface CommittedLedger {
  readonly since: bigint
  readonly position: bigint
  readonly ok: number
  readonly retried: number
  readonly dead: number
  readonly skipped: number
  readonly holes: number
  /** Offsets settled above the position. */
  readonly above: ReadonlySet<bigint>
}

/** The complete state in a commit. */
export interface CommittedState {
  readonly source: CommittedLedger
  readonly waiting: (CommittedLedger & { readonly replaysFinished: number; readonly waitingNow: number }) | undefined
}

/** Parses the metadata; returns undefined when the text does not have this form. */
export function readState(offset: bigint, metadata: string): CommittedState | undefined {
  const [version, ...pairs] = metadata.split(' ')
  if (version !== 'wb1') return undefined
  const fields = new Map(pairs.map((pair) => pair.split('=', 2) as [string, string]))
  const source = readLedger('', offset, fields)
  if (!fields.has('w')) return { source, waiting: undefined }
  const ledger = readLedger('w', BigInt(fields.get('w') as string), fields)
  const [replaysFinished, waitingNow] = [Number(fields.get('wp')), Number(fields.get('wn'))]
  return { source, waiting: { ...ledger, replaysFinished, waitingNow } }
}

/** Returns true for an offset below the position or in the set. */
export function isSettledIn({ position, above }: CommittedLedger, offset: bigint): boolean {
  return offset < position || above.has(offset)
}

/** Describes an imbalance of the sums; undefined when there is none. */
export function imbalanceOf({ source, waiting }: CommittedState): string | undefined {
  const wrong = sumProblem('source', source) ?? (waiting === undefined ? undefined : sumProblem('waiting', waiting))
  if (wrong !== undefined || waiting === undefined) return wrong
  const left = source.retried + waiting.replaysFinished
  const right = waiting.ok + waiting.dead + waiting.waitingNow
  return left === right
    ? undefined
    : `${left} originals left the source or were replayed, and ${right} are accounted for`
}

function sumProblem(name: string, ledger: CommittedLedger): string | undefined {
  const { position, since, above, ok, retried, dead, skipped, holes } = ledger
  const due = Number(position - since) + above.size
  const sum = ok + retried + dead + skipped + holes
  return due === sum ? undefined : `${due} offsets of the ${name} are settled, and ${sum} are counted`
}

function readLedger(prefix: '' | 'w', position: bigint, fields: ReadonlyMap<string, string>): CommittedLedger {
  const number = (name: string): number => Number(fields.get(prefix + name))
  return {
    since: BigInt(fields.get(`${prefix}s`) as string),
    position,
    ok: number('o'),
    retried: number('r'),
    dead: number('d'),
    skipped: number('k'),
    holes: number('h'),
    above: readBits(position, fields.get(`${prefix}b`) ?? ''),
  }
}

function readBits(position: bigint, text: string): ReadonlySet<bigint> {
  const bytes = Buffer.from(text, 'base64url')
  const offsets = new Set<bigint>()
  for (let bit = 0; bit < bytes.length * 8; bit++)
    if (((bytes[bit >> 3] as number) >> (bit & 7)) & 1) offsets.add(position + 1n + BigInt(bit))
  return offsets
}
