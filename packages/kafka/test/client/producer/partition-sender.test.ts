import { Buffer } from 'node:buffer'
import { createSeededRandom } from '@waybill/core/internal'
import { type ErrorName, errorCode, TransportError } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import { type AttemptResult, PartitionSender } from '../../../src/client/producer/partition-sender.ts'
import { PendingRecord } from '../../../src/client/producer/pending-record.ts'
import { type ProducerOptions, resolveProducerOptions } from '../../../src/client/producer/producer-options.ts'
import { batchOf, ModelPartition, valuesOf } from './model-partition.ts'

const identity = { producerId: 7n, epoch: 0 }

/** The batch that is sent now. */
function started(sender: PartitionSender): Buffer {
  const batch = sender.start(identity)
  if (batch === null) throw new Error('The batch could not be made.')
  return batch
}

/** A sender with the results of its records. */
function createSender({ raisesEpoch = true, ...options }: ProducerOptions & { raisesEpoch?: boolean } = {}) {
  const outcomes = new Map<string, string>()
  const failures: KafkaError[] = []
  const spent: bigint[] = []
  const written: { topic: string; tookMs: number }[] = []
  let settled = 0
  const sender = new PartitionSender('t', 0, {
    options: resolveProducerOptions('EVENT', { compression: 'NONE', lingerMs: 0, ...options }),
    random: createSeededRandom(1),
    isTransactional: false,
    raisesEpoch,
    written: (topic, sentAt, now) => written.push({ topic, tookMs: now - sentAt }),
    settled: () => settled++,
    spent: ({ producerId }) => spent.push(producerId),
    failed: (error) => failures.push(error),
  })
  return {
    sender,
    outcomes,
    failures,
    spent,
    written,
    settledCount: () => settled,
    send: (value: string, at = 0): void => {
      const record = new PendingRecord({ topic: 't', key: null, value: Buffer.from(value) }, at, at, 0)
      record.result.then(
        ({ offset }) => outcomes.set(value, `at ${offset}`),
        (error: KafkaError) => outcomes.set(value, error.kind),
      )
      sender.enqueue(record)
    },
    /** Starts an attempt and ends it with a code; answers the batch. */
    attempt: (name: ErrorName, at = 0): Buffer => {
      const bytes = started(sender)
      sender.finish({ code: errorCode[name], message: null, baseOffset: 100n }, at)
      return bytes
    },
    lose: (at = 0): Buffer => {
      const bytes = started(sender)
      sender.finish({ error: new KafkaError('Lost.', 'UNKNOWN') }, at)
      return bytes
    },
  }
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('a batch that is written', () => {
  test('moves the sequence by its records and answers each with its offset', async () => {
    const { sender, send, attempt, outcomes } = createSender()
    for (const value of ['a', 'b', 'c']) send(value)
    expect(batchOf(attempt('NONE')).baseSequence).toBe(0)
    send('d')
    expect(batchOf(attempt('NONE')).baseSequence).toBe(3)
    await settle()
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'at 100', b: 'at 101', c: 'at 102', d: 'at 100' })
    expect(sender.isEmpty).toBe(true)
  })

  test('counts as written when the broker says it has it, without saying where', async () => {
    const { send, attempt, outcomes } = createSender()
    send('a')
    attempt('DUPLICATE_SEQUENCE_NUMBER')
    send('b')
    expect(batchOf(attempt('NONE')).baseSequence).toBe(1)
    await settle()
    expect(outcomes.get('a')).toBe('at -1')
  })

  test('S2-062 took the time since the send of its first record, with every repetition', () => {
    const { send, attempt, lose, written } = createSender()
    send('a', 1_000)
    send('b', 1_200)
    attempt('NOT_ENOUGH_REPLICAS', 2_000)
    lose(5_000)
    expect(written).toEqual([])
    attempt('NONE', 9_000)
    send('c', 9_500)
    attempt('MESSAGE_TOO_LARGE', 9_600)
    expect(written).toEqual([{ topic: 't', tookMs: 8_000 }])
  })
})

describe('a batch without a final answer', () => {
  test.each(['NOT_LEADER_OR_FOLLOWER', 'REQUEST_TIMED_OUT', 'NOT_ENOUGH_REPLICAS', 'CORRUPT_MESSAGE'] as const)(
    'is sent again after %s with the same bytes, and what came meanwhile waits behind it',
    (name) => {
      const { sender, send, attempt } = createSender()
      send('a')
      const first = attempt(name, 1_000)
      send('b')
      expect(sender.dueInMs(1_000, true)).toBeGreaterThan(0)
      expect(sender.dueInMs(10_000, true)).toBe(0)
      expect(sender.isRepeat).toBe(true)
      expect(attempt('NONE', 10_000)).toBe(first)
      expect(valuesOf(attempt('NONE', 10_000))).toEqual(['b'])
    },
  )

  test('is repeated after growing waits of at most a second and a half', () => {
    const { sender, send, lose } = createSender({ retryBackoffMs: 100 })
    send('a')
    const waits = Array.from({ length: 8 }, () => {
      lose(0)
      return sender.dueInMs(0, true)
    })
    expect(waits[0]).toBeLessThan(150)
    expect(waits.at(-1)).toBeGreaterThan(500)
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000)
  })

  test('fails after as many refusals as retries allow, and the next batch takes its sequence', async () => {
    const { send, attempt, outcomes } = createSender({ retries: 2 })
    send('a')
    for (let refusals = 0; refusals < 3; refusals++) attempt('NOT_ENOUGH_REPLICAS')
    send('b')
    expect(batchOf(attempt('NONE'))).toMatchObject({ baseSequence: 0, producerEpoch: 0 })
    await settle()
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'RETRIABLE', b: 'at 100' })
  })

  test('does not fail before its timeout when a response was lost: only another response can settle it', async () => {
    const { send, attempt, lose, outcomes } = createSender({ retries: 0 })
    send('a')
    lose()
    for (let refusals = 0; refusals < 20; refusals++) attempt('NOT_ENOUGH_REPLICAS')
    await settle()
    expect(outcomes.size).toBe(0)
    attempt('NONE')
    await settle()
    expect(outcomes.get('a')).toBe('at 100')
  })

  test('is repeated without end when it could not be sent', async () => {
    const { sender, send, outcomes } = createSender({ retries: 0 })
    send('a')
    for (let tries = 0; tries < 20; tries++) {
      started(sender)
      sender.finish({ error: new KafkaError('No connection.', 'RETRIABLE') }, 0)
    }
    await settle()
    expect(outcomes.size).toBe(0)
  })
})

describe('a record whose time is over', () => {
  test('is certainly not written when no attempt is in doubt', async () => {
    const { sender, send, attempt, outcomes, failures } = createSender({ retries: false })
    send('a', 0)
    attempt('NOT_ENOUGH_REPLICAS')
    send('b', 50)
    sender.expire(10, undefined)
    await settle()
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'RETRIABLE' })
    expect(failures.map(({ kind }) => kind)).toEqual(['RETRIABLE'])
    const next = attempt('NONE')
    expect(valuesOf(next)).toEqual(['b'])
    expect(batchOf(next)).toMatchObject({ baseSequence: 0, producerEpoch: 0 })
  })

  test('is unknown when a response was lost, and later records continue under the next epoch', async () => {
    const { sender, send, attempt, lose, outcomes } = createSender()
    send('a', 0)
    lose()
    send('b', 50)
    sender.expire(10, undefined)
    const next = attempt('NONE')
    expect(valuesOf(next)).toEqual(['b'])
    expect(batchOf(next)).toMatchObject({ baseSequence: 0, producerEpoch: 1 })
    await settle()
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'UNKNOWN', b: 'at 100' })
  })

  test('is unknown while it is in flight, and the epoch stays when it turns out to be written', async () => {
    const { sender, send, attempt, outcomes } = createSender()
    send('a', 0)
    started(sender)
    send('b', 50)
    sender.expire(10, undefined)
    sender.finish({ code: errorCode.NONE, message: null, baseOffset: 100n }, 20)
    expect(batchOf(attempt('NONE'))).toMatchObject({ baseSequence: 1, producerEpoch: 0 })
    await settle()
    expect(outcomes.get('a')).toBe('UNKNOWN')
  })

  test('is not resent when the last response is lost after its timeout', () => {
    const { sender, send, attempt } = createSender()
    send('a', 0)
    started(sender)
    sender.expire(10, undefined)
    sender.finish({ error: new KafkaError('Lost.', 'UNKNOWN') }, 20)
    expect(sender.isEmpty).toBe(true)
    send('b', 50)
    expect(batchOf(attempt('NONE'))).toMatchObject({ baseSequence: 0, producerEpoch: 1 })
  })

  test('stays in its batch while another of the batch has time left: the broker knows a repeat by its count', async () => {
    const { sender, send, lose, attempt, outcomes } = createSender()
    send('a', 0)
    send('b', 50)
    const first = lose()
    sender.expire(10, undefined)
    expect(attempt('NONE')).toBe(first)
    await settle()
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'UNKNOWN', b: 'at 101' })
  })
})

describe('a record that the broker will never accept', () => {
  test('is found by splitting, and all others are written in their order', async () => {
    const { sender, send, outcomes } = createSender()
    const partition = new ModelPartition()
    const values = Array.from({ length: 40 }, (_, index) => (index === 23 ? 'poison' : `v${index}`))
    for (const value of values) send(value)
    let requests = 0
    for (; !sender.isEmpty; requests++) sender.finish(partition.append(started(sender)), 0)
    await settle()
    expect(partition.log).toEqual(values.filter((value) => value !== 'poison'))
    expect(outcomes.get('poison')).toBe('FATAL')
    expect(outcomes.get('v22')).toBe('at 22')
    expect(outcomes.get('v24')).toBe('at 23')
    expect(requests).toBeLessThan(20)
  })
})

/** Two records that were written and whose answer is lost; now the broker would refuse the second. */
function createDoubt() {
  const created = createSender()
  const partition = new ModelPartition()
  partition.acceptsPoison = true
  created.send('a', 0)
  created.send('poison', 0)
  partition.append(started(created.sender))
  created.sender.finish({ error: new KafkaError('Lost.', 'UNKNOWN') }, 0)
  partition.acceptsPoison = false
  const repeat = (): void => created.sender.finish(partition.append(started(created.sender)), 0)
  return { ...created, partition, repeat }
}

describe('a batch that may be written when the limits of its topic are lowered', () => {
  test('is split and yet not written twice', async () => {
    const { sender, partition, repeat, send, outcomes } = createDoubt()
    for (let attempts = 0; attempts < 5; attempts++) repeat()
    sender.expire(0, undefined)
    send('b', 50)
    repeat()
    await settle()
    expect(partition.log).toEqual(['a', 'poison', 'b'])
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'UNKNOWN', poison: 'UNKNOWN', b: 'at 2' })
  })

  test('is unknown with all its records when a part of it is refused', async () => {
    const { repeat, attempt, outcomes } = createDoubt()
    repeat()
    expect(valuesOf(attempt('TOPIC_AUTHORIZATION_FAILED'))).toEqual(['a'])
    await settle()
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'UNKNOWN', poison: 'UNKNOWN' })
  })
})

describe('a sequence that the broker does not expect', () => {
  test('after a log lost acknowledged batches, the batch is resent once under the next epoch', async () => {
    const { sender, send, outcomes } = createSender()
    const partition = new ModelPartition()
    for (const value of ['a', 'b', 'c']) {
      send(value)
      if (value === 'c') partition.forgetLast()
      for (; !sender.isEmpty; ) sender.finish(partition.append(started(sender)), 0)
    }
    await settle()
    expect(partition.log).toEqual(['a', 'c'])
    expect(outcomes.get('c')).toBe('at 1')
  })

  test('is asked about again with the same bytes while the batch may be in the log of another leader', () => {
    const { send, attempt, lose } = createSender({ retries: 0 })
    send('a')
    const first = lose()
    expect(attempt('OUT_OF_ORDER_SEQUENCE_NUMBER')).toBe(first)
    expect(attempt('UNKNOWN_PRODUCER_ID')).toBe(first)
    expect(attempt('NONE')).toBe(first)
  })

  test('gives the batch back where the epoch is not ours to raise, and nothing is sent before there is another', async () => {
    const { sender, send, attempt, outcomes, failures } = createSender({ raisesEpoch: false })
    send('a')
    attempt('OUT_OF_ORDER_SEQUENCE_NUMBER')
    await settle()
    expect(outcomes.has('a')).toBe(true)
    expect(failures).toHaveLength(1)
    expect(sender.needsIdentity).toBe(true)
  })
})

describe('a batch that a sender cannot resend', () => {
  test('a refused batch fails with the reason, and its sequence is reused', async () => {
    const { send, attempt, outcomes, failures } = createSender()
    send('a')
    attempt('TOPIC_AUTHORIZATION_FAILED')
    send('b')
    expect(batchOf(attempt('NONE')).baseSequence).toBe(0)
    await settle()
    expect(outcomes.get('a')).toBe('FATAL')
    expect(failures[0]?.reason).toBe('TOPIC_AUTHORIZATION_FAILED')
  })

  test('a refusal after a lost answer leaves it unknown', async () => {
    const { send, attempt, lose, outcomes } = createSender()
    send('a')
    lose()
    attempt('TOPIC_AUTHORIZATION_FAILED')
    send('b')
    expect(batchOf(attempt('NONE'))).toMatchObject({ baseSequence: 0, producerEpoch: 1 })
    await settle()
    expect(outcomes.get('a')).toBe('UNKNOWN')
  })

  test('FENCED is reported even after a lost response', async () => {
    const { send, attempt, lose, outcomes } = createSender({ raisesEpoch: false })
    send('a')
    lose()
    attempt('INVALID_PRODUCER_EPOCH')
    await settle()
    expect(outcomes.get('a')).toBe('FENCED')
  })

  test.each([
    { what: 'a connection that was refused permanently', cause: new TransportError('No.', 'NOT_SENT'), kind: 'FATAL' },
    { what: 'an unexpected error, perhaps while a response was read', cause: new Error('Oops'), kind: 'UNKNOWN' },
  ])('$what is reported as $kind', async ({ cause, kind }) => {
    const { sender, send, outcomes } = createSender()
    send('a')
    started(sender)
    sender.finish({ error: new KafkaError('Failed.', 'FATAL', { cause }) }, 0)
    await settle()
    expect(outcomes.get('a')).toBe(kind)
  })

  test('an id whose epochs are used up is reported as spent', () => {
    const { sender, send, lose, spent } = createSender()
    sender.identify({ producerId: 7n, epoch: 32_767 })
    send('a', 0)
    lose()
    sender.expire(0, undefined)
    expect(spent).toEqual([7n])
    expect(sender.needsIdentity).toBe(true)
  })

  test('abandoned records fail with the given error, or as unknown when in doubt', async () => {
    const { sender, send, lose, outcomes } = createSender({ raisesEpoch: false })
    send('a')
    lose()
    send('b')
    sender.abandon(new KafkaError('Stop.', 'ABORTABLE'))
    await settle()
    expect(Object.fromEntries(outcomes)).toEqual({ a: 'UNKNOWN', b: 'ABORTABLE' })
    expect(sender.isEmpty).toBe(true)
  })
})

/** Treatment of one attempt by the network and the broker. LATE ones arrive when the program says so, or never. */
type Fate =
  | 'OK'
  | 'ANSWER_LOST'
  | 'LATE'
  | 'NEVER'
  | 'NOT_SENT'
  | 'NOT_LEADER_OR_FOLLOWER'
  | 'NOT_ENOUGH_REPLICAS'
  | 'REQUEST_TIMED_OUT'
  | 'TOPIC_AUTHORIZATION_FAILED'
type Step =
  | { readonly do: 'SEND'; readonly isPoison: boolean }
  | { readonly do: 'START'; readonly fate: Fate }
  | { readonly do: 'FINISH' }
  | { readonly do: 'EXPIRE'; readonly age: number }
  | { readonly do: 'ARRIVE'; readonly which: number }
  | { readonly do: 'CHANGE_LIMITS' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('SEND' as const), isPoison: fc.nat(9).map((drawn) => drawn === 0) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('START' as const),
      fate: fc.constantFrom<Fate>(
        'OK',
        'OK',
        'OK',
        'ANSWER_LOST',
        'LATE',
        'NEVER',
        'NOT_SENT',
        'NOT_LEADER_OR_FOLLOWER',
        'NOT_ENOUGH_REPLICAS',
        'REQUEST_TIMED_OUT',
        'TOPIC_AUTHORIZATION_FAILED',
      ),
    }),
  },
  { weight: 6, arbitrary: fc.constant({ do: 'FINISH' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('EXPIRE' as const), age: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'CHANGE_LIMITS' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('ARRIVE' as const), which: fc.nat(3) }) },
)

describe('whatever the network does', () => {
  test('no record is in the log twice, out of order, or contrary to its result', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const { sender, send, outcomes, settledCount } = createSender({ retries: 2 })
        const partition = new ModelPartition()
        const sent: string[] = []
        /** Attempts on their way after their connection ended. */
        const onTheWay: Buffer[] = []
        let now = 0
        const lost: AttemptResult = { error: new KafkaError('Lost.', 'UNKNOWN') }
        const meet = (bytes: Buffer, fate: Fate): AttemptResult => {
          switch (fate) {
            case 'OK':
              return partition.append(bytes)
            case 'ANSWER_LOST':
              partition.append(bytes)
              return lost
            case 'LATE':
              onTheWay.push(bytes)
              return lost
            case 'NEVER':
              return lost
            case 'NOT_SENT':
              return { error: new KafkaError('No connection.', 'RETRIABLE') }
            case 'NOT_LEADER_OR_FOLLOWER': // Said of a batch that was appended as well as of one that was not.
              if (now % 2 === 0) partition.append(bytes)
              return { code: errorCode[fate], message: null, baseOffset: -1n }
            case 'NOT_ENOUGH_REPLICAS':
            case 'REQUEST_TIMED_OUT':
            case 'TOPIC_AUTHORIZATION_FAILED':
              return { code: errorCode[fate], message: null, baseOffset: -1n }
          }
        }
        let inFlight: AttemptResult | undefined
        const finish = (): void => {
          if (inFlight !== undefined) sender.finish(inFlight, now)
          inFlight = undefined
        }
        for (const one of steps) {
          now++
          if (one.do === 'SEND') {
            const value = `${one.isPoison ? 'poison' : 'v'}${now}`
            sent.push(value)
            send(value, now)
          } else if (one.do === 'START') {
            if (inFlight === undefined && !sender.isEmpty) inFlight = meet(started(sender), one.fate)
          } else if (one.do === 'FINISH') finish()
          else if (one.do === 'EXPIRE') sender.expire(now - one.age, undefined)
          else if (one.do === 'CHANGE_LIMITS') partition.acceptsPoison = !partition.acceptsPoison
          else for (const bytes of onTheWay.splice(one.which, 1)) partition.append(bytes)
        }
        finish()
        // The network is well again: everything comes to an end.
        for (let rounds = 0; !sender.isEmpty; rounds++) {
          // A doubt without a possible response ends with the delivery timeout.
          if (rounds > 200) sender.expire(now, undefined)
          expect(rounds).toBeLessThan(400)
          if (sender.isEmpty) break
          sender.finish(meet(started(sender), 'OK'), now)
        }
        for (const bytes of onTheWay) partition.append(bytes)
        await settle()

        expect(outcomes.size).toBe(sent.length)
        expect(settledCount()).toBe(sent.length)
        expect(new Set(partition.log).size).toBe(partition.log.length)
        const order = partition.log.map((value) => sent.indexOf(value))
        expect(order).toEqual(order.toSorted((one, other) => one - other))
        for (const [value, outcome] of outcomes) {
          if (outcome.startsWith('at')) expect(partition.log[Number(outcome.slice(3))]).toBe(value)
          else if (outcome !== 'UNKNOWN') expect(partition.log).not.toContain(value)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
