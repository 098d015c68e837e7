import { readdirSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCommitMetadata, encodeCommitMetadata } from '../../src/ledger/commit-metadata.ts'
import { type LedgerState, ledgerStateAt, type WaitingLedgerState } from '../../src/ledger/ledger.ts'
import { OffsetSet } from '../../src/ledger/offset-set.ts'

type Texts = Readonly<Record<'since' | 'ok' | 'retried' | 'dead' | 'skipped' | 'holes', string>> & {
  readonly settledAbove: readonly string[]
}

interface Golden {
  readonly says: string
  readonly offset: string
  readonly metadata: string
  readonly source: Texts
  readonly waiting?: Texts & Readonly<Record<'position' | 'replaysFinished' | 'waitingNow', string>>
  readonly moved?: { readonly times: number; readonly atMs: number; readonly by: string } & Record<
    'from' | 'to',
    string
  >
}

const folder = new URL('../../../../test/golden/commit-metadata/', import.meta.url)
const golden = readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Golden)

function stateOf(position: bigint, { since, ok, retried, dead, skipped, holes, settledAbove }: Texts): LedgerState {
  return {
    since: BigInt(since),
    position,
    counts: {
      ok: BigInt(ok),
      retried: BigInt(retried),
      dead: BigInt(dead),
      skipped: BigInt(skipped),
      holes: BigInt(holes),
    },
    settledAbove: OffsetSet.of(position, settledAbove.map(BigInt)),
  }
}

function ledgersOf({ offset, source, waiting, moved }: Golden): {
  source: LedgerState
  waiting?: WaitingLedgerState
} {
  const move = moved && { moved: { ...moved, from: BigInt(moved.from), to: BigInt(moved.to) } }
  const read = { source: { ...stateOf(BigInt(offset), source), ...move } }
  if (waiting === undefined) return read
  const { position, replaysFinished, waitingNow } = waiting
  return {
    ...read,
    waiting: {
      ...stateOf(BigInt(position), waiting),
      replaysFinished: BigInt(replaysFinished),
      waitingNow: BigInt(waitingNow),
    },
  }
}

/** Sets compare by what they hold. */
const plain = (value: object): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, one: unknown) =>
      typeof one === 'bigint' ? `${one}` : one instanceof OffsetSet ? [...one].map(String) : one,
    ),
  )

describe('D22 D24 commit metadata', () => {
  test.for(golden)('reads and writes the text that other versions know: $says', (one) => {
    const { source, waiting } = ledgersOf(one)
    expect(encodeCommitMetadata(source, waiting)).toBe(one.metadata)
    const read = decodeCommitMetadata({ offset: BigInt(one.offset), metadata: one.metadata })
    expect(plain(read)).toEqual(plain(ledgersOf(one)))
  })

  test.for(golden)('ignores fields of newer versions in any position: $says', ({ offset, metadata }) => {
    const newer = `${metadata.replace('wb1 ', 'wb1 z=1=2 ')} later`
    const known = decodeCommitMetadata({ offset: BigInt(offset), metadata })
    expect(plain(decodeCommitMetadata({ offset: BigInt(offset), metadata: newer }))).toEqual(plain(known))
    expect(known).toHaveProperty('source')
  })

  test('takes below 1,300 of the 4,000 characters that Kafka accepts, with the largest counts and default bounds', () => {
    const position = 2n ** 62n
    const count = 2n ** 61n
    const counts = { ok: count, retried: count, dead: count, skipped: count, holes: count }
    const ahead = (span: number) => OffsetSet.of(position, [position + BigInt(span)])
    const source = { since: 0n, position, counts, settledAbove: ahead(1_000) }
    const waiting = { ...source, settledAbove: ahead(4_000), replaysFinished: count, waitingNow: count }
    expect(encodeCommitMetadata(source).length).toBeLessThan(400)
    expect(encodeCommitMetadata(source, waiting).length).toBeLessThan(1_300)
  })

  test.for([
    [null, null, 'nothing was committed'],
    [5n, null, 'the commit has no metadata'],
    [5n, '', 'the commit has no metadata'],
    [5n, 'another program', `the metadata is not Waybill's: "another program"`],
    [5n, 'wb2 s=5', `the metadata is not Waybill's: "wb2 s=5"`],
    [5n, 'wb1', 'the metadata has no s='],
    [5n, 'wb1 s=5 o=0 r=0 d=0 k=0 b=', 'the metadata has no h='],
    [5n, 'wb1 s=5 s=5 o=0 r=0 d=0 k=0 h=0 b=', 'the metadata has s= twice'],
    [5n, 'wb1 s=-5 o=0 r=0 d=0 k=0 h=0 b=', 'the metadata has no number in s='],
    [5n, 'wb1 s=9223372036854775808 o=0 r=0 d=0 k=0 h=0 b=', 'the metadata has no number in s='],
    [5n, 'wb1 s=5 o=1e3 r=0 d=0 k=0 h=0 b=', 'the metadata has no number in o='],
    [5n, 'wb1 s=5 o=0 r=0 d=0 k=0 h=0 b=%', 'the metadata has no set of offsets in b='],
    [9n, 'wb1 s=5 o=0 r=0 d=0 k=0 h=0 b=', 'the offset says 4 settled, the counts say 0'],
    [4n, 'wb1 s=5 o=0 r=0 d=0 k=0 h=0 b=', 'the offset says -1 settled, the counts say 0'],
    [5n, 'wb1 s=5 o=0 r=0 d=0 k=0 h=0 b= w=1', 'the metadata has no ws='],
    [
      5n,
      'wb1 s=5 o=0 r=0 d=0 k=0 h=0 b= w=1 ws=0 wo=0 wr=0 wd=0 wk=0 wh=0 wp=0 wn=0 wb=',
      'the waiting position says 1 settled, the counts say 0',
    ],
  ] as const)('says why offset %s with %j tells nothing', ([offset, metadata, problem]) => {
    expect(decodeCommitMetadata({ offset, metadata })).toEqual({ problem })
  })

  test('leaves a missing original to the audit', () => {
    const metadata = 'wb1 s=0 o=0 r=1 d=0 k=0 h=0 b= w=0 ws=0 wo=0 wr=0 wd=0 wk=0 wh=0 wp=0 wn=0 wb='
    expect(decodeCommitMetadata({ offset: 1n, metadata })).toHaveProperty('waiting.waitingNow', 0n)
  })

  test('never throws and never trusts altered metadata, whatever is committed', () => {
    const whole = encodeCommitMetadata({
      ...ledgerStateAt(10n),
      since: 4n,
      counts: { ok: 6n, retried: 0n, dead: 0n, skipped: 0n, holes: 0n },
    })
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(5), fc.string({ maxLength: 3 }), (at, cut, put) => {
        const metadata = whole.slice(0, at) + put + whole.slice(at + cut)
        const read = decodeCommitMetadata({ offset: 10n, metadata })
        if ('problem' in read) expect(read.problem).not.toBe('')
        else expect(isDeepStrictEqual([read.source.position, sum(read.source)], [10n, 10n])).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

/** Returns the position that follows from the counts. */
function sum({ since, counts, settledAbove }: LedgerState): bigint {
  const { ok, retried, dead, skipped, holes } = counts
  return since + ok + retried + dead + skipped + holes - BigInt(settledAbove.size)
}
