import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import { createBrokerTransport, type KafkaConnection, TransportError, UnsupportedApiError } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apiTable } from '../../../src/wire/api/api-table.ts'
import {
  answerFrame,
  type FakeRequest,
  flexible,
  heartbeatAnswer,
  startFakeBroker,
  versionsAnswer,
  versionsKey,
} from '../fake-broker.ts'

const transport = createBrokerTransport({ maxResponseBytes: 2 ** 20 })
const heartbeat = { groupId: 'g', generationId: 1, memberId: 'm', groupInstanceId: null }
const beat = (connection: KafkaConnection) => connection.send('Heartbeat', heartbeat)

/** The error of a promise that must reject. */
async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('It was expected to reject.'),
    (error: unknown) => error,
  )
}

async function expectEnd(promise: Promise<unknown>, outcome: 'NOT_SENT' | 'UNKNOWN'): Promise<TransportError> {
  const error = await errorOf(promise)
  expect(error).toBeInstanceOf(TransportError)
  expect((error as TransportError).outcome).toBe(outcome)
  return error as TransportError
}

describe('a connection', () => {
  test('says who it is and speaks the highest version that both sides have', async () => {
    await using broker = await startFakeBroker((request) => request.reply(heartbeatAnswer()))
    const connection = await transport.connect(broker.node, 'orders-app')
    expect(await beat(connection)).toEqual({ errorCode: 0 })
    expect(broker.requests).toMatchObject([{ key: 12, version: 4, clientId: 'orders-app' }])
    connection.close()
  })

  test('speaks an older version where the broker has no newer one', async () => {
    await using broker = await startFakeBroker(
      (request) => {
        if (request.key === versionsKey) request.reply(versionsAnswer([{ key: 10, min: 0, max: 3 }]))
        else {
          const write = flexible((writer) =>
            writer.appendInt32(0).appendInt16(15).appendString(null).appendInt32(-1).appendString('').appendInt32(-1),
          )
          request.reply(write)
        }
      },
      { greets: false },
    )
    const connection = await transport.connect(broker.node, 'c')
    expect(await connection.send('FindCoordinator', { kind: 'GROUP', key: 'g' })).toMatchObject({ errorCode: 15 })
    expect(broker.requests[1]).toMatchObject({ key: 10, version: 3 })
    connection.close()
  })

  test('refuses a request that the broker does not speak, and sends nothing', async () => {
    await using broker = await startFakeBroker(
      (request) => request.reply(versionsAnswer([{ key: 0, min: 12, max: 13 }])),
      { greets: false },
    )
    const connection = await transport.connect(broker.node, 'c')
    const error = await expectEnd(beat(connection), 'NOT_SENT')
    expect(error).toBeInstanceOf(UnsupportedApiError)
    expect(error.isFinal).toBe(true)
    await expectEnd(connection.send('Produce', { transactionalId: null, timeoutMs: 1, topics: [] }), 'NOT_SENT')
    expect(broker.requests).toHaveLength(1)
    connection.close()
  })

  test('to a broker too old to say what it speaks is refused for good', async () => {
    await using broker = await startFakeBroker((request) => request.reply(Buffer.from([0, 35, 0, 0, 0, 0])), {
      greets: false,
    })
    expect(await errorOf(transport.connect(broker.node, 'c'))).toBeInstanceOf(UnsupportedApiError)
    await broker.gone
  })

  test('gives each request its own answer, in whatever pieces they come', async () => {
    const held: FakeRequest[] = []
    await using broker = await startFakeBroker((request) => {
      held.push(request)
      if (held.length < 20) return
      const bytes = Buffer.concat(
        held.map((one, index) => answerFrame(one.correlationId, heartbeatAnswer(index).buffer)),
      )
      // A byte at a time: each goes out before the next is written.
      const writeFrom = (at: number): void => {
        if (at < bytes.length) request.socket.write(bytes.subarray(at, at + 1), () => writeFrom(at + 1))
      }
      writeFrom(0)
    })
    const connection = await transport.connect(broker.node, 'c')
    const answers = await Promise.all(Array.from({ length: 20 }, () => beat(connection)))
    expect(answers.map(({ errorCode }) => errorCode)).toEqual(Array.from({ length: 20 }, (_, index) => index))
    connection.close()
  })

  test('takes an error code it has never heard of for an answer', async () => {
    await using broker = await startFakeBroker((request) => request.reply(heartbeatAnswer(9_999)))
    const connection = await transport.connect(broker.node, 'c')
    expect(await beat(connection)).toEqual({ errorCode: 9_999 })
    connection.close()
  })

  test('skips tagged fields of a newer broker', async () => {
    await using broker = await startFakeBroker((request) =>
      request.reply(Buffer.from([1, 7, 2, 0xab, 0xcd, 0, 0, 0, 0, 0, 27, 1, 0, 1, 0xff])),
    )
    const connection = await transport.connect(broker.node, 'c')
    expect(await beat(connection)).toEqual({ errorCode: 27 })
    connection.close()
  })

  test('lives on after a request that cannot be written', async () => {
    await using broker = await startFakeBroker((request) => request.reply(heartbeatAnswer()))
    const connection = await transport.connect(broker.node, 'c')
    const topics = [{ topicId: 'no uuid', partitions: [] }]
    const fetch = { maxWaitMs: 0, minBytes: 0, maxBytes: 0, isolationLevel: 'READ_COMMITTED', sessionId: 0 } as const
    const error = await errorOf(connection.send('Fetch', { ...fetch, sessionEpoch: -1, topics, forgottenTopics: [] }))
    expect(error).toBeInstanceOf(ArgumentError)
    expect(await beat(connection)).toEqual({ errorCode: 0 })
    expect(broker.requests).toHaveLength(1)
    connection.close()
  })
})

describe('the end of a connection', () => {
  test('by close() rejects what has no answer as UNKNOWN, at once, and later requests as NOT_SENT', async () => {
    await using broker = await startFakeBroker()
    const connection = await transport.connect(broker.node, 'c')
    const pending = [beat(connection), beat(connection)]
    await broker.received(2)
    connection.close()
    connection.close()
    await expectEnd(beat(connection), 'NOT_SENT')
    for (const one of pending) await expectEnd(one, 'UNKNOWN')
    expect(await connection.ended).toBeNull()
    await broker.gone
  })

  test('by the broker rejects what has no answer as UNKNOWN and tells the reason', async () => {
    await using broker = await startFakeBroker((request) => request.socket.end())
    const connection = await transport.connect(broker.node, 'c')
    await expectEnd(beat(connection), 'UNKNOWN')
    expect(await connection.ended).toBeInstanceOf(Error)
    connection.close()
    expect(await connection.ended).toBeInstanceOf(Error)
    await expectEnd(beat(connection), 'NOT_SENT')
  })

  test('by a reset is told as well', async () => {
    await using broker = await startFakeBroker((request) => request.socket.resetAndDestroy())
    const connection = await transport.connect(broker.node, 'c')
    const error = await expectEnd(beat(connection), 'UNKNOWN')
    expect(error.message).toMatch(/Heartbeat.*127\.0\.0\.1/)
    expect(await connection.ended).toBeInstanceOf(Error)
  })
})

describe('connecting', () => {
  test.each([
    ['to a port nobody listens on', { host: '127.0.0.1', port: 1 }],
    ['to a port that cannot be', { host: '127.0.0.1', port: 70_000 }],
    ['to a host that does not exist', { host: 'no-such-host.invalid', port: 9092 }],
  ])('%s is NOT_SENT', async (_, node) => {
    const error = await expectEnd(transport.connect(node, 'c'), 'NOT_SENT')
    expect(error.isFinal).toBe(false)
    expect(error.message).toContain(`${node.host}:${node.port}`)
  })

  test('to a peer that closes at once is NOT_SENT', async () => {
    await using broker = await startFakeBroker((request) => request.socket.destroy(), { greets: false })
    await expectEnd(transport.connect(broker.node, 'c'), 'NOT_SENT')
  })

  test('to a peer that says nothing ends when it is aborted', async () => {
    await using broker = await startFakeBroker(() => {}, { greets: false })
    const controller = new AbortController()
    const connecting = transport.connect(broker.node, 'c', controller.signal)
    await broker.received(1)
    controller.abort(new Error('too late'))
    const error = await expectEnd(connecting, 'NOT_SENT')
    expect(error.message).toContain('too late')
    await broker.gone
  })

  test('with a signal that is aborted already opens nothing', async () => {
    await using broker = await startFakeBroker(() => {}, { greets: false })
    await expectEnd(transport.connect(broker.node, 'c', AbortSignal.abort()), 'NOT_SENT')
    expect(broker.requests).toEqual([])
  })

  test('leaves a signal alone that aborts later', async () => {
    await using broker = await startFakeBroker((request) => request.reply(heartbeatAnswer()))
    const controller = new AbortController()
    const connection = await transport.connect(broker.node, 'c', controller.signal)
    controller.abort()
    expect(await beat(connection)).toEqual({ errorCode: 0 })
    connection.close()
  })
})

function length(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

describe('a peer that is no broker', () => {
  test.each([
    ['a frame larger than allowed', length(2 ** 20 + 1)],
    ['a frame of two gigabytes', length(2 ** 31 - 1)],
    ['a frame of negative length', length(-1)],
    ['a frame too short for an answer', length(3)],
    ['a frame without anything', length(0)],
    ['an alert of TLS', Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])],
    ['HTTP', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['the answer to another request', answerFrame(77, heartbeatAnswer().buffer)],
    ['an answer that ends too early', answerFrame(2, Buffer.from([0, 0]))],
  ])('that sends %s ends the connection', async (_, bytes) => {
    await using broker = await startFakeBroker((request) => request.socket.write(bytes))
    const connection = await transport.connect(broker.node, 'c')
    await expectEnd(beat(connection), 'UNKNOWN')
    expect(await connection.ended).toBeInstanceOf(Error)
    await broker.gone
  })

  test('that answers what was never asked ends the connection', async () => {
    await using broker = await startFakeBroker((request) => {
      request.reply(heartbeatAnswer())
      request.reply(heartbeatAnswer())
    })
    const connection = await transport.connect(broker.node, 'c')
    expect(await beat(connection)).toEqual({ errorCode: 0 })
    expect(await connection.ended).toBeInstanceOf(Error)
  })

  test('that announces a large answer and sends nothing holds no more than that answer', async () => {
    await using broker = await startFakeBroker((request) => request.socket.write(length(2 ** 20)))
    const connection = await transport.connect(broker.node, 'c')
    const before = process.memoryUsage().arrayBuffers
    const pending = beat(connection)
    await broker.received(1)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 2 ** 20)
    connection.close()
    await expectEnd(pending, 'UNKNOWN')
  })
})

/** Bytes that look like an answer from afar: mostly small numbers, as lengths and counts are. */
const noise = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.nat(255) }), { maxLength: 300 })
  .map((numbers) => Buffer.from(numbers))

type Mischief = 'NOISE' | 'HALF_A_FRAME' | 'WRONG_ID' | 'ABSURD_LENGTH' | 'SILENCE' | 'END' | 'ANSWER'
const mischief = fc.record({
  kind: fc.constantFrom<Mischief>(
    'NOISE',
    'NOISE',
    'HALF_A_FRAME',
    'WRONG_ID',
    'ABSURD_LENGTH',
    'SILENCE',
    'END',
    'ANSWER',
  ),
  bytes: noise,
  number: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
})

describe('hostile answers', () => {
  test.each(
    Object.entries(apiTable).flatMap(([api, { versions }]) => versions.map((version) => [api, version] as const)),
  )('to %s version %d are read to an end or refused', async (api, version) => {
    const { ByteReader } = await import('../../../src/wire/api/byte-reader.ts')
    class Refused extends Error {}
    const { read } = apiTable[api as keyof typeof apiTable]
    let refused = 0
    fc.assert(
      fc.property(noise, (bytes) => {
        try {
          read(new ByteReader(bytes, (what) => new Refused(what)), version)
        } catch (error) {
          if (!(error instanceof Refused)) throw error
          refused++
        }
      }),
      { numRuns: 150 },
    )
    expect(refused).toBeGreaterThan(0)
  })

  test('end every request in an answer or a TransportError, and nothing is left after close()', async () => {
    const answers = { ANSWERED: 0, UNKNOWN: 0, NOT_SENT: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.array(mischief, { minLength: 3, maxLength: 3 }),
        fc.record({ greets: fc.boolean(), ends: fc.boolean() }),
        async (script, { greets, ends }) => {
          let at = 0
          await using broker = await startFakeBroker(
            (request) => {
              const { kind, bytes, number } = script[at++ % script.length] as (typeof script)[number]
              perform(request, kind, bytes, number)
              if (ends && at >= script.length) request.socket.end()
            },
            { greets },
          )
          const controller = new AbortController()
          const connecting = transport.connect(broker.node, 'c', controller.signal)
          // Whatever the peer does not end by itself, we do.
          if (!greets) void broker.received(1).then(() => setImmediate(() => controller.abort()))
          const connection = await connecting.catch((error: unknown) => {
            expect(error).toBeInstanceOf(TransportError)
            return null
          })
          if (connection === null) return
          const sends = [
            beat(connection),
            connection.send('Metadata', { topics: null }),
            connection.send('OffsetFetch', { groupId: 'g', topics: null, requireStable: true }),
          ]
          const outcomes = Promise.allSettled(sends)
          // Noise may pass for a broker that speaks next to nothing: then no request will come.
          if (greets) await Promise.race([broker.received(3), connection.ended])
          if (!greets || !ends) connection.close()
          for (const outcome of await outcomes) {
            if (outcome.status === 'fulfilled') answers.ANSWERED++
            else {
              expect(outcome.reason).toBeInstanceOf(TransportError)
              answers[(outcome.reason as TransportError).outcome]++
            }
          }
          await connection.ended
          await expectEnd(beat(connection), 'NOT_SENT')
        },
      ),
      { numRuns: 300 },
    )
    expect(answers.ANSWERED).toBeGreaterThan(0)
    expect(answers.UNKNOWN).toBeGreaterThan(0)
  })
})

function perform(request: FakeRequest, kind: Mischief, bytes: Buffer, number: number): void {
  const head = Buffer.alloc(4)
  head.writeInt32BE(number)
  switch (kind) {
    case 'NOISE':
      return request.reply(bytes)
    case 'HALF_A_FRAME':
      request.socket.end(answerFrame(request.correlationId, bytes).subarray(0, 4 + (bytes.length >> 1)))
      return
    case 'WRONG_ID':
      request.socket.write(answerFrame(number, bytes))
      return
    case 'ABSURD_LENGTH':
      request.socket.write(Buffer.concat([head, bytes]))
      return
    case 'END':
      request.socket.end(bytes)
      return
    case 'ANSWER':
      return request.reply(heartbeatAnswer())
    case 'SILENCE':
  }
}
