import assert from 'node:assert/strict'
import type { SqlConnection } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'
import type { LeaseFence, RowRef, RowStatus } from '@waybill/outbox/internal'
import {
  allDue,
  fenceOf,
  leaseOf,
  longMs,
  noFence,
  type OutboxSuite,
  onlySeq,
  seqsOf,
  shortMs,
} from './outbox-store-scene.ts'

type Finish = (
  store: OutboxStore,
  connection: SqlConnection,
  rows: readonly RowRef[],
  fence: LeaseFence,
) => Promise<bigint[]>

/** Every way to finish a row. */
const finishes: readonly (readonly [name: string, finish: Finish, status: RowStatus | undefined])[] = [
  ['DONE, kept', (store, c, rows, fence) => store.markDone(c, rows, fence, { whenDone: 'KEEP' }), 'DONE'],
  ['DONE, deleted', (store, c, rows, fence) => store.markDone(c, rows, fence, { whenDone: 'DELETE' }), undefined],
  [
    'RETRY',
    (store, c, rows, fence) =>
      store.markRetry(
        c,
        rows.map((row) => ({ ...row, attempts: 1, delayMs: longMs, error: 'again' })),
        fence,
      ),
    'RETRY',
  ],
  [
    'DEAD',
    (store, c, rows, fence) =>
      store.markDead(
        c,
        rows.map((row) => ({ ...row, error: 'dead' })),
        fence,
      ),
    'DEAD',
  ],
]

/** Tests of finishing rows, and of fences. */
export function finishPart(suite: OutboxSuite): void {
  for (const [name, finish, status] of finishes)
    suite.describe(`a row that becomes ${name}`, () => endTests(suite, finish, status))
  suite.describe('a failed row', () => failureTests(suite))
}

function endTests({ test }: OutboxSuite, finish: Finish, status: RowStatus | undefined): void {
  test('changes with the token of its claim, and is then unclaimed', async (scene) => {
    const event = scene.event()
    const seqs = await scene.insert([event])
    const lease = leaseOf('a', 1n)
    await scene.claim(lease)
    assert.deepEqual(await scene.call((store, c) => finish(store, c, scene.rows(seqs), fenceOf(lease))), seqs)
    assert.equal(await scene.statusOf(event), status)
    assert.deepEqual(await scene.call((store, c) => store.renew(c, scene.rows(seqs), lease)), [])
  })

  test('does not change again when the call is repeated after its answer was lost', async (scene) => {
    const seqs = await scene.fill(2)
    const lease = leaseOf('a', 1n)
    await scene.claim(lease)
    await scene.call((store, c) => finish(store, c, scene.rows(seqs), fenceOf(lease)))
    assert.deepEqual(await scene.call((store, c) => finish(store, c, scene.rows(seqs), fenceOf(lease))), [])
    const { attempts = 0 } = (await scene.call((store, c) => store.queryDead(c, { limit: 1 })))[0] ?? {}
    assert.ok(attempts <= 1)
  })

  for (const [who, token] of [
    ['another owner', { owner: 'b', version: 1n }],
    ['another claim of the same owner', { owner: 'a', version: 2n }],
  ] as const)
    test(`does not change for ${who}`, async (scene) => {
      const event = scene.event()
      const seqs = await scene.insert([event])
      await scene.claim(leaseOf('a', 1n))
      assert.deepEqual(await scene.call((store, c) => finish(store, c, scene.rows(seqs), fenceOf(token))), [])
      assert.equal(await scene.statusOf(event), 'NEW')
    })

  test('does not change for a token while it is unclaimed', async (scene) => {
    const seqs = await scene.fill(1)
    assert.deepEqual(await scene.call((store, c) => finish(store, c, scene.rows(seqs), fenceOf(leaseOf('a', 0n)))), [])
  })

  for (const ended of ['DONE', 'DEAD'] as const)
    test(`does not change once it is ${ended}`, async (scene) => {
      const [seq, event] = await scene.eventIn(ended)
      assert.deepEqual(await scene.call((store, c) => finish(store, c, [scene.row(seq)], noFence)), [])
      assert.equal(await scene.statusOf(event), ended)
    })

  test('changes without a token where a single node reads the table', async (scene) => {
    const seqs = await scene.fill(2)
    await scene.call((store, c) =>
      store.markRetry(c, [{ ...scene.row(seqs[0] as bigint), attempts: 1, delayMs: 0, error: 'e' }], noFence),
    )
    assert.deepEqual(await scene.call((store, c) => finish(store, c, scene.rows(seqs), noFence)), seqs)
  })

  test('is answered alone when the others are not held', async (scene) => {
    const seqs = await scene.fill(6)
    await scene.claim(leaseOf('a', 1n), { limit: 2 })
    await scene.claim(leaseOf('b', 1n), { limit: 2 })
    const asked = [...seqs, (seqs.at(-1) as bigint) + 1_000n]
    const changed = await scene.call((store, c) => finish(store, c, scene.rows(asked), fenceOf(leaseOf('b', 1n))))
    assert.deepEqual(changed, seqs.slice(2, 4))
  })

  test('does not change when its number is another event’s by now, and the others do', async (scene) => {
    const events = scene.events(3)
    const seqs = await scene.insert(events)
    const lease = leaseOf('a', 1n)
    await scene.claim(lease)
    const newcomer = await scene.reuseNumber(events[1] as (typeof events)[number])
    const others = seqs.filter((_, at) => at !== 1)
    assert.deepEqual(await scene.call((store, c) => finish(store, c, scene.rows(seqs), fenceOf(lease))), others)
    const statuses = await scene.call((store, c) => store.statusOf(c, [newcomer]))
    assert.deepEqual([...statuses], [[newcomer, 'NEW']])
  })

  test('does not change for the id of another one of its call', async (scene) => {
    const events = scene.events(2)
    const [first = 0n, second = 0n] = await scene.insert(events)
    const [one, other] = [scene.row(first), scene.row(second)]
    const crossed = [
      { ...one, eventId: other.eventId },
      { ...other, eventId: one.eventId },
    ]
    assert.deepEqual(await scene.call((store, c) => finish(store, c, crossed, noFence)), [])
    assert.deepEqual(seqsOf(await scene.poll()), [first, second])
  })

  test('may be one of hundreds', async (scene) => {
    const seqs = await scene.fill(600)
    const lease = leaseOf('a', 1n)
    await scene.claim(lease)
    assert.deepEqual(await scene.call((store, c) => finish(store, c, scene.rows(seqs), fenceOf(lease))), seqs)
    assert.deepEqual(await scene.poll(), [])
  })

  test('may be none', async (scene) => {
    assert.deepEqual(await scene.call((store, c) => finish(store, c, [], noFence)), [])
  })
}

function failureTests({ test }: OutboxSuite): void {
  test('waits for its own time, whatever the others wait for', async (scene) => {
    const [soon = 0n, late = 0n, next = 0n] = await scene.fill(3)
    const rows = [
      { ...scene.row(soon), attempts: 1, delayMs: 0, error: 'first' },
      { ...scene.row(late), attempts: 1, delayMs: longMs, error: 'second' },
      { ...scene.row(next), attempts: 1, delayMs: shortMs, error: 'third' },
    ]
    assert.deepEqual(await scene.call((store, c) => store.markRetry(c, rows, noFence)), [soon, late, next])
    assert.deepEqual(await scene.poll(), [])
    const due = await scene.until(
      () => scene.poll(allDue),
      ({ length }) => length > 1,
    )
    assert.deepEqual(seqsOf(due), [soon, next])
  })

  test('has one attempt more each time, however often the call is repeated', async (scene) => {
    const [seq] = await scene.eventIn('RETRY')
    // Repeated, as after a lost response: without a fence the second call looks like the first.
    for (const _ of ['answered', 'repeated'])
      await scene.call((store, c) =>
        store.markRetry(c, [{ ...scene.row(seq), attempts: 2, delayMs: 0, error: 'e' }], noFence),
      )
    assert.deepEqual(
      (await scene.poll(allDue)).map((row) => row.attempts),
      [2],
    )
    await scene.call((store, c) => store.markDead(c, [{ ...scene.row(seq), error: 'e' }], noFence))
    const [dead] = await scene.call((store, c) => store.queryDead(c, { limit: 1 }))
    assert.equal(dead?.attempts, 3)
  })

  for (const [name, error, stored] of [
    ['as it was', `it's "odd" \\ {a,b} 👩‍👧\n$1 ?`, `it's "odd" \\ {a,b} 👩‍👧\n$1 ?`],
    ['without characters that a database refuses', 'a\u0000b\ud800c', 'a\ufffdb\ufffdc'],
    ['whole up to 4,000 characters', 'x'.repeat(4_000), 'x'.repeat(4_000)],
    ['cut to 4,000 characters', 'x'.repeat(4_001), `${'x'.repeat(3_997)}...`],
    ['cut between characters', `x${'😀'.repeat(3_000)}`, `x${'😀'.repeat(1_998)}...`],
    ['even when it is empty', '', ''],
  ] as const)
    test(`keeps its error ${name}`, async (scene) => {
      const seq = onlySeq(await scene.fill(1))
      await scene.call((store, c) => store.markDead(c, [{ ...scene.row(seq), error }], noFence))
      const [dead] = await scene.call((store, c) => store.queryDead(c, { limit: 1 }))
      assert.equal(dead?.lastError, stored)
      assert.equal(dead?.failureType, null)
    })

  test('keeps the cause of its failure beside its error, and forgets both in a replay', async (scene) => {
    const [retried, dead] = (await scene.fill(2)) as [bigint, bigint]
    const failed = { ...scene.row(retried), attempts: 1, delayMs: 0, error: 'refused', failureType: 'NETWORK' } as const
    await scene.call((store, c) => store.markRetry(c, [failed], noFence))
    const late = { error: 'late', failureType: 'TIMEOUT' } as const
    const unknown = { error: 'unknown', failureType: undefined }
    await scene.call((store, c) =>
      store.markDead(
        c,
        [
          { ...scene.row(retried), ...late },
          { ...scene.row(dead), ...unknown },
        ],
        noFence,
      ),
    )
    const query = () => scene.call((store, c) => store.queryDead(c, { limit: 2 }))
    const told = (await query()).map(({ lastError, failureType }) => [lastError, failureType])
    assert.deepEqual(told, [
      ['late', 'TIMEOUT'],
      ['unknown', null],
    ])
    await scene.call((store, c) => store.replayDead(c, [scene.row(retried).eventId]))
    await scene.call((store, c) => store.markDead(c, [{ ...scene.row(retried), ...unknown }], noFence))
    assert.deepEqual((await query())[0]?.failureType, null)
  })
}
