import assert from 'node:assert/strict'
import { ArgumentError, type EventEnvelope } from '@waybill/core'
import { type EnvelopeInput, maxPayloadBytes } from '@waybill/core/internal'
import {
  allDue,
  leaseOf,
  longMs,
  type OutboxStoreScene,
  type OutboxSuite,
  seqsOf,
  shortMs,
} from './outbox-store-scene.ts'

/** Tests of inserts: committed events are read back complete and in order. */
export function insertPart(suite: OutboxSuite): void {
  suite.describe('inserted events', () => {
    orderTests(suite)
    atomicTests(suite)
    optionTests(suite)
  })
  suite.describe('what an event holds', () => {
    roundTripTests(suite)
    refusalTests(suite)
  })
}

function orderTests({ test }: OutboxSuite): void {
  test('have rising numbers in the order they are given', async (scene) => {
    const events = scene.events(5)
    const seqs = [...(await scene.insert(events.slice(0, 3))), ...(await scene.insert(events.slice(3)))]
    assert.deepEqual(
      seqs,
      seqs.toSorted((one, other) => Number(one - other)),
    )
    assert.equal(new Set(seqs).size, 5)
    const rows = await scene.poll()
    assert.deepEqual(
      rows.map(({ seq, eventId }) => [seq, eventId]),
      events.map(({ eventId }, index) => [seqs[index], eventId]),
    )
  })

  for (const count of [8, 9])
    test(`keep their order when they are ${count}`, async (scene) => {
      const events = Array.from({ length: count }, () => scene.event({ tenantId: null, headers: { n: 'x' } }))
      const seqs = await scene.insert(events, { lease: leaseOf('writer', 7n) })
      const rows = await scene.poll()
      assert.deepEqual(seqsOf(rows), seqs)
      assert.deepEqual(
        rows.map(({ event }) => event),
        events,
      )
    })

  test('may be more than one statement holds', async (scene) => {
    const events = scene.events(1_001)
    const seqs = await scene.insert(events)
    const rows = await scene.poll({ limit: 2_000 })
    assert.deepEqual(seqsOf(rows), seqs)
    assert.deepEqual(
      rows.map(({ eventId }) => eventId),
      events.map(({ eventId }) => eventId),
    )
  })

  test('may be none', async (scene) => {
    assert.deepEqual(await scene.insert([]), [])
  })
}

function atomicTests({ test }: OutboxSuite): void {
  test('are gone when their transaction rolls back', async (scene) => {
    const intended = new ArgumentError('intended')
    const rolledBack = scene.one.transaction(async (connection) => {
      await scene.store.insertNew(connection, scene.events(2), { lease: null, availableAt: null })
      throw intended
    })
    await assert.rejects(rolledBack, intended)
    assert.deepEqual(await scene.poll(), [])
  })

  test('are invisible before the commit', async (scene) => {
    await scene.one.transaction(async (connection) => {
      await scene.store.insertNew(connection, scene.events(2), { lease: null, availableAt: null })
      const seen = await scene.other.connection((session) => scene.store.backlog(session, { countUpTo: 10 }))
      assert.equal(seen.pending, 0)
    })
    assert.equal((await scene.poll()).length, 2)
  })

  test('are found by their numbers while they are pending, with the ids of their events', async (scene) => {
    const [pending, waiting] = [await scene.eventIn('NEW'), await scene.eventIn('RETRY')]
    const [[done], [dead]] = [await scene.eventIn('DONE'), await scene.eventIn('DEAD')]
    const asked = [pending[0], waiting[0], done, dead, dead + 1_000n]
    const found = await scene.call((store, connection) => store.findPending(connection, asked))
    assert.deepEqual(
      [...found].toSorted(([one], [other]) => Number(one - other)),
      [pending, waiting].map(([seq, { eventId }]) => [seq, eventId]),
    )
    assert.equal((await scene.call((store, connection) => store.findPending(connection, []))).size, 0)
  })

  test('are refused when an event is already there', async (scene) => {
    const event = scene.event()
    await scene.insert([event])
    await assert.rejects(scene.insert([scene.event(), event]))
    assert.equal((await scene.poll()).length, 1)
  })
}

function optionTests({ test }: OutboxSuite): void {
  test('are taken already when they are inserted with a lease', async (scene) => {
    const mine = leaseOf('writer', 1n)
    const seqs = await scene.insert(scene.events(2), { lease: mine })
    assert.deepEqual(await scene.claim(leaseOf('claimer', 2n)), [])
    const done = await scene.call((store, connection) =>
      store.markDone(connection, scene.rows(seqs), { kind: 'LEASE', ...mine }, { whenDone: 'KEEP' }),
    )
    assert.deepEqual(done, seqs)
  })

  test('are taken by others when the lease they were inserted with runs out', async (scene) => {
    const seqs = await scene.insert(scene.events(2), { lease: leaseOf('writer', 1n, shortMs) })
    const rows = await scene.until(
      () => scene.claim(leaseOf('claimer', 2n)),
      ({ length }) => length > 0,
    )
    assert.deepEqual(seqsOf(rows), seqs)
  })

  test('wait until they are available, without an attempt', async (scene) => {
    const [late] = await scene.insert([scene.event()], { availableAt: scene.now + longMs })
    const [soon] = await scene.insert([scene.event()], { availableAt: scene.now + shortMs })
    assert.notEqual(late, soon)
    assert.deepEqual(await scene.poll(), [])
    const rows = await scene.until(
      () => scene.poll(allDue),
      ({ length }) => length > 0,
    )
    assert.deepEqual(
      rows.map(({ seq, attempts }) => [seq, attempts]),
      [[soon, 0]],
    )
  })
}

/** Texts that careless quoting, an array literal, a codec or a character set breaks. */
const oddTexts: readonly (readonly [name: string, text: string])[] = [
  ['quotes', `it's "so" \`here\``],
  ['backslashes', 'C:\\new\\\\ \\'],
  ['signs of array literals', '{a,"b",NULL,,}'],
  ['the word NULL', 'NULL'],
  ['an empty text', ''],
  ['blanks around it', '  between  '],
  ['placeholders', '$1 ? :name @p1 %s'],
  ['a comment', `'; drop table x; -- /* */ #`],
  ['emoji and signs outside of the first plane', '👩‍👩‍👧 𝕎 \u{10ffff}'],
  ['combining signs', 'e\u0301 \u00e9'],
  ['line breaks and tabs', 'a\r\nb\tc\u2028d\u2029'],
  ['control characters', '\u0001\u001f\u007f'],
]

/** Writes an event and reads it back, by a query and by a claim. */
async function comesBack(scene: OutboxStoreScene, input: Partial<EnvelopeInput>): Promise<EventEnvelope> {
  const event = scene.event(input)
  await scene.insert([event])
  const [polled] = await scene.poll()
  assert.deepEqual(polled?.event, event)
  const [claimed] = await scene.claim(leaseOf('reader', 1n))
  assert.deepEqual(claimed?.event, event)
  return event
}

function roundTripTests({ test }: OutboxSuite): void {
  for (const [name, text] of oddTexts)
    test(`comes back: ${name}`, async (scene) => {
      const payloadJson = JSON.stringify({ text, [text]: [text] })
      await comesBack(scene, {
        eventType: text || 'type',
        aggregateType: text || 'kind',
        aggregateId: text,
        tenantId: text,
        headers: { [text || 'name']: text },
        payloadJson,
      })
    })

  test('comes back: nothing but the least there can be', async (scene) => {
    await comesBack(scene, {
      aggregateId: null,
      tenantId: null,
      headers: {},
      payloadJson: 'null',
    })
  })

  test('comes back: a payload byte for byte, as no parser would write it', async (scene) => {
    const payloadJson =
      '{ "b" : 1,"a":1.0, "a": 12345678901234567890123 ,\n"z":"\\u0000\\u00e9\\/\\ud83d\\ude00",  "e":1E+2,"n":-0 }'
    const { payloadJson: written } = await comesBack(scene, { payloadJson })
    assert.equal(written, payloadJson)
  })

  test('comes back: a payload nested deeper than some databases parse', async (scene) => {
    await comesBack(scene, { payloadJson: `${'['.repeat(200)}1${']'.repeat(200)}` })
  })

  test('comes back: bytes that are no text', async (scene) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const event = scene.event({ payloadBytes: bytes })
    await scene.insert([event])
    const [row] = await scene.poll()
    assert.deepEqual(Buffer.from(row?.event?.payload ?? []), Buffer.from(bytes))
  })

  test('comes back: the largest payload', async (scene) => {
    const payloadJson = `"${'"'.repeat(0)}${'é'.repeat((maxPayloadBytes - 2) / 2)}"`
    assert.equal(Buffer.byteLength(payloadJson), maxPayloadBytes)
    await comesBack(scene, { payloadJson })
  })

  for (const occurredAt of [0, -1, 1_700_000_000_123, Date.UTC(9999, 11, 31, 23, 59, 59, 999)])
    test(`comes back: the instant ${occurredAt}`, async (scene) => {
      await comesBack(scene, { occurredAt })
    })

  const widest = { eventId: 36, eventType: 128, aggregateType: 64, aggregateId: 128, tenantId: 64 }
  for (const [field, width] of Object.entries(widest))
    test(`comes back: ${width} characters of ${field}`, async (scene) => {
      await comesBack(scene, { [field]: '😀'.repeat(width) })
    })
}

function refusalTests({ test }: OutboxSuite): void {
  const tooWide = { eventId: 37, eventType: 129, aggregateType: 65, aggregateId: 129, tenantId: 65 }
  for (const [field, width] of Object.entries(tooWide)) {
    test(`is refused: ${width} characters of ${field}`, async (scene) => {
      await assert.rejects(scene.insert([scene.event(), scene.event({ [field]: 'x'.repeat(width) })]), ArgumentError)
      assert.deepEqual(await scene.poll(), [])
    })
    test(`is refused: the character NUL in ${field}`, async (scene) => {
      await assert.rejects(scene.insert([scene.event({ [field]: 'a\u0000b' })]), ArgumentError)
      assert.deepEqual(await scene.poll(), [])
    })
  }

  test('is refused: an owner that the lock cannot hold', async (scene) => {
    for (const owner of ['', 'two words', 'é', 'x'.repeat(65)]) {
      await assert.rejects(scene.claim(leaseOf(owner, 1n)), ArgumentError)
      await assert.rejects(scene.insert([scene.event()], { lease: leaseOf(owner, 1n) }), ArgumentError)
    }
    assert.deepEqual(await scene.poll(), [])
  })
}
