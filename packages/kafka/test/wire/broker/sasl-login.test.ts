import { Buffer } from 'node:buffer'
import { inspect } from 'node:util'
import { type Clock } from '@waybill/core'
import { systemClock } from '@waybill/core/internal'
import {
  AuthenticationError,
  createBrokerTransport,
  type KafkaConnection,
  type SaslOptions,
  TransportError,
} from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { type FakeRequest, flexible, heartbeatAnswer, startFakeBroker } from '../fake-broker.ts'

const handshakeKey = 17
const authenticateKey = 36
const secret = 'correct-horse-battery-staple'

const plain: SaslOptions = { mechanism: 'PLAIN', username: 'alice', password: secret }
const token: SaslOptions = { mechanism: 'OAUTHBEARER', token: () => Promise.resolve(secret) }
const scram: SaslOptions = { mechanism: 'SCRAM-SHA-256', username: 'alice', password: () => secret }

const beat = (connection: KafkaConnection) =>
  connection.send('Heartbeat', { groupId: 'g', generationId: 1, memberId: 'm', groupInstanceId: null })

function handshakeAnswer(errorCode: number, mechanisms: readonly string[]): Buffer {
  const texts = mechanisms.map((name) => Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name)]))
  return Buffer.concat([Buffer.from([0, errorCode, 0, 0, 0, mechanisms.length]), ...texts])
}

interface Verdict {
  readonly errorCode?: number
  readonly words?: string
  readonly bytes?: Buffer
  readonly lifetimeMs?: bigint
}

function authenticateAnswer({ errorCode = 0, words = '', bytes = Buffer.alloc(0), lifetimeMs = 0n }: Verdict) {
  return flexible((writer) =>
    writer.appendInt16(errorCode).appendString(words).appendBytes(bytes).appendInt64(lifetimeMs),
  )
}

/** A broker that takes any mechanism and judges what it is told. */
function judging(judge: (told: Buffer) => Verdict) {
  return (request: FakeRequest): void => {
    if (request.key === handshakeKey) request.reply(handshakeAnswer(0, []))
    else if (request.key === authenticateKey) request.reply(authenticateAnswer(judge(request.rest.subarray(2, -1))))
    else request.reply(heartbeatAnswer())
  }
}

async function failure(promise: Promise<unknown>): Promise<TransportError> {
  const error = await promise.then(
    () => expect.fail('It was expected to reject.'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(TransportError)
  return error as TransportError
}

/** Everything of an error that could reach a log. */
function everythingOf(error: unknown): string {
  const parts: string[] = [inspect(error, { depth: 20, showHidden: true }), JSON.stringify(error), String(error)]
  for (let link = error; link instanceof Error; link = link.cause) parts.push(link.message, link.stack ?? '')
  return parts.join('\n')
}

describe('a login', () => {
  test('with PLAIN tells name and password', async () => {
    const told: string[] = []
    await using broker = await startFakeBroker(
      judging((bytes) => {
        told.push(bytes.toString())
        return {}
      }),
    )
    const connection = await createBrokerTransport({ sasl: plain }).connect(broker.node, 'c')
    expect(await beat(connection)).toEqual({ errorCode: 0 })
    expect(told).toEqual([`\0alice\0${secret}`])
    expect(inspect(connection, { depth: 9, showHidden: true })).not.toContain(secret)
    connection.close()
  })

  test('with OAUTHBEARER tells the token and its extensions', async () => {
    const told: string[] = []
    await using broker = await startFakeBroker(
      judging((bytes) => {
        told.push(bytes.toString())
        return {}
      }),
    )
    const sasl = { ...token, extensions: { traceId: '42' } } as const
    const connection = await createBrokerTransport({ sasl }).connect(broker.node, 'c')
    expect(told).toEqual([`n,,\x01auth=Bearer ${secret}\x01traceId=42\x01\x01`])
    connection.close()
  })

  test.each([
    ['SCRAM-SHA-256', 32],
    ['SCRAM-SHA-512', 64],
  ] as const)('with %s proves the password by %s bytes', async (mechanism, bytes) => {
    const told: string[] = []
    await using broker = await startFakeBroker(
      judging((message) => {
        told.push(message.toString())
        const nonce = /,r=([^,]*)/.exec(told[0] ?? '')?.[1]
        return told.length === 1 ? { bytes: Buffer.from(`r=${nonce}x,s=c2FsdA==,i=4096`) } : { errorCode: 58 }
      }),
    )
    const sasl: SaslOptions = { ...scram, mechanism }
    await failure(createBrokerTransport({ sasl }).connect(broker.node, 'c'))
    expect(Buffer.from(told[1]?.split(',p=')[1] ?? '', 'base64')).toHaveLength(bytes)
    await broker.gone
  })

  test('with a mechanism the broker does not take names those it does', async () => {
    await using broker = await startFakeBroker((request) =>
      request.reply(handshakeAnswer(33, ['GSSAPI', 'SCRAM-SHA-512'])),
    )
    const error = await failure(createBrokerTransport({ sasl: plain }).connect(broker.node, 'c'))
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error.message).toContain('GSSAPI, SCRAM-SHA-512')
    expect(error).toMatchObject({ isFinal: true, outcome: 'NOT_SENT' })
    await broker.gone
  })

  // Each broker repeats the secret in every place it can: none of it may come out again.
  test.each<[string, SaslOptions, Verdict]>([
    ['PLAIN refused', plain, { errorCode: 58, words: `wrong password ${secret}` }],
    ['PLAIN met by an odd state', plain, { errorCode: 34, words: secret }],
    ['a token refused by code', token, { errorCode: 58, words: secret }],
    ['a token refused by text', token, { bytes: Buffer.from(`{"status":"invalid_token","seen":"${secret}"}`) }],
    ['SCRAM refused', scram, { errorCode: 58, words: secret }],
    ['SCRAM answered with nonsense', scram, { bytes: Buffer.from(secret) }],
    ['SCRAM answered with a malformed challenge', scram, { bytes: Buffer.from(`r=${secret},s=${secret},i=${secret}`) }],
  ])('with %s fails for good and repeats no secret', async (_, sasl, verdict) => {
    await using broker = await startFakeBroker(judging(() => verdict))
    const error = await failure(createBrokerTransport({ sasl }).connect(broker.node, 'c'))
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error.isFinal).toBe(true)
    expect(everythingOf(error)).not.toContain(secret)
    await broker.gone
  })

  test.each<[string, (request: FakeRequest) => void]>([
    ['cut off', (request) => request.socket.destroy()],
    ['answered with a frame that is none', (request) => void request.socket.write(Buffer.from(secret))],
    ['answered with bytes that are no answer', (request) => request.reply(Buffer.from([0, 0, 200]))],
  ])('that is %s is NOT_SENT, may be tried again and repeats no secret', async (_, disturb) => {
    await using broker = await startFakeBroker((request) => {
      if (request.key === handshakeKey) request.reply(handshakeAnswer(0, []))
      else disturb(request)
    })
    const error = await failure(createBrokerTransport({ sasl: plain }).connect(broker.node, 'c'))
    expect(error).toMatchObject({ isFinal: false, outcome: 'NOT_SENT' })
    expect(everythingOf(error)).not.toContain(secret)
  })

  test.each<[string, () => Promise<string>]>([
    ['throws', () => Promise.reject(new Error(`no token for ${secret}`))],
    ['gives no text', () => Promise.resolve(undefined as unknown as string)],
  ])('whose provider %s is NOT_SENT and repeats no secret', async (_, provider) => {
    await using broker = await startFakeBroker(judging(() => ({})))
    const sasl: SaslOptions = { mechanism: 'OAUTHBEARER', token: provider }
    const error = await failure(createBrokerTransport({ sasl }).connect(broker.node, 'c'))
    expect(error).toMatchObject({ isFinal: false, outcome: 'NOT_SENT' })
    expect(error.message).toContain('token')
    expect(everythingOf(error)).not.toContain(secret)
    await broker.gone
  })

  test('whose provider never answers ends when the connection does', async () => {
    await using broker = await startFakeBroker((request) => {
      request.reply(handshakeAnswer(0, []))
      request.socket.end()
    })
    const sasl: SaslOptions = { mechanism: 'OAUTHBEARER', token: () => new Promise(() => {}) }
    expect(await failure(createBrokerTransport({ sasl }).connect(broker.node, 'c'))).toMatchObject({
      outcome: 'NOT_SENT',
    })
  })
})

/** A connection whose login lasts a second by a clock of the test's; `later` judges every further login. */
async function setUp(later: Verdict = { lifetimeMs: 1_000n }) {
  let nowMs = 0
  let logins = 0
  const clock: Clock = { ...systemClock, monotonic: () => nowMs }
  const broker = await startFakeBroker(judging(() => (logins++ === 0 ? { lifetimeMs: 1_000n } : later)))
  const connection = await createBrokerTransport({ sasl: plain, clock }).connect(broker.node, 'c')
  return {
    connection,
    passMs: (ms: number) => {
      nowMs += ms
    },
    keys: () => broker.requests.map(({ key }) => key),
    [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
  }
}

describe('a login that runs out', () => {
  test('is renewed before the request that comes after four fifths of its time, and the others wait', async () => {
    await using place = await setUp()
    const { connection, passMs, keys } = place
    passMs(799)
    await beat(connection)
    expect(keys()).toEqual([handshakeKey, authenticateKey, 12])
    passMs(1)
    expect(await Promise.all([beat(connection), beat(connection)])).toEqual([{ errorCode: 0 }, { errorCode: 0 }])
    expect(keys().slice(3)).toEqual([handshakeKey, authenticateKey, 12, 12])
    passMs(800)
    await beat(connection)
    expect(keys().slice(7)).toEqual([handshakeKey, authenticateKey, 12])
    connection.close()
  })

  test('and is refused ends the connection, with nothing sent', async () => {
    await using place = await setUp({ errorCode: 58 })
    const { connection, passMs, keys } = place
    passMs(900)
    const errors = await Promise.all([failure(beat(connection)), failure(beat(connection))])
    for (const error of errors) expect(error).toMatchObject({ outcome: 'NOT_SENT', isFinal: true })
    expect(await connection.ended).toBeInstanceOf(AuthenticationError)
    expect(keys().filter((key) => key === 12)).toEqual([])
  })

  test('and whose connection is closed meanwhile leaves nothing waiting', async () => {
    await using place = await setUp()
    const { connection, passMs } = place
    passMs(900)
    const waiting = failure(beat(connection))
    connection.close()
    expect(await waiting).toMatchObject({ outcome: 'NOT_SENT' })
    expect(await connection.ended).toBeNull()
  })
})
