import { Buffer } from 'node:buffer'
import { inspect } from 'node:util'
import { type Clock } from '@waybill/core'
import { systemClock } from '@waybill/core/internal'
import {
  AuthenticationError,
  type BrokerTransportOptions,
  createBrokerTransport,
  errorCode,
  type SaslOptions,
  TransportError,
} from '@waybill/kafka/wire'
import {
  describeWithPrivate,
  type SecuredBroker,
  secureBroker,
  sessionLifetimeMs,
  brokerUser as user,
} from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { beforeAll, describe, expect, test } from 'vitest'
import { topicIdOf, until } from './broker-at.ts'
import { createScramUsers } from './scram-users.ts'

const passwords = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const loginOf = (mechanism: (typeof passwords)[number], password: string = user.password): SaslOptions => ({
  mechanism,
  username: user.name,
  password: () => Promise.resolve(password),
})

/** A token nobody signed, which a broker takes that was set up for trials. */
function unsignedToken(subject: string): string {
  const seconds = Math.floor(systemClock.now() / 1_000)
  const parts = [{ alg: 'none' }, { sub: subject, iat: seconds - 60, exp: seconds + 600 }]
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
}

async function failure(attempt: Promise<unknown>): Promise<TransportError> {
  const error: unknown = await attempt.then(
    () => expect.fail('It was expected to reject.'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(TransportError)
  expect((error as TransportError).outcome).toBe('NOT_SENT')
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(user.password)
  return error as TransportError
}

describeWithPrivate('kafka')('a broker with TLS, logins and ACLs', (service) => {
  let broker: SecuredBroker
  beforeAll(async () => {
    broker = await secureBroker(service())
    await createScramUsers(broker.listeners.PLAINTEXT)
    // Acknowledged by the controller; the broker learns of it a moment later.
    for (const mechanism of passwords)
      await eventually(async () => (await connect('SASL_PLAINTEXT', { sasl: loginOf(mechanism) })).close(), {
        deadlineMs: 60_000,
        everyMs: 200,
      })
  }, 300_000)

  const connect = (listener: keyof SecuredBroker['listeners'], options: BrokerTransportOptions) =>
    createBrokerTransport(options).connect(broker.listeners[listener], 'security-test')

  describe.each([
    ['SASL_PLAINTEXT', () => ({})],
    ['SASL_SSL', () => ({ tls: { ca: broker.ca } })],
  ] as const)('on %s', (listener, tls) => {
    test.each(passwords)('lets in who knows the password, by %s', async (mechanism) => {
      const connection = await connect(listener, { ...tls(), sasl: loginOf(mechanism) })
      expect((await connection.send('Metadata', { topics: [] })).brokers).toHaveLength(1)
      connection.close()
    })

    test.each(passwords)('refuses a wrong password for good, by %s', async (mechanism) => {
      const error = await failure(connect(listener, { ...tls(), sasl: loginOf(mechanism, 'a wrong guess') }))
      expect(error).toBeInstanceOf(AuthenticationError)
      expect(inspect(error, { depth: 20 })).not.toContain('a wrong guess')
    })

    test('lets in who has a token, and refuses another one', async () => {
      const sasl = { mechanism: 'OAUTHBEARER', token: () => unsignedToken(user.name) } as const
      const connection = await connect(listener, { ...tls(), sasl })
      expect((await connection.send('Metadata', { topics: [] })).brokers).toHaveLength(1)
      connection.close()
      const refused = await failure(connect(listener, { ...tls(), sasl: { ...sasl, token: 'not a token' } }))
      expect(refused).toBeInstanceOf(AuthenticationError)
    })
  })

  test('a login where none is asked for is refused for good', async () => {
    expect(await failure(connect('PLAINTEXT', { sasl: loginOf('PLAIN') }))).toBeInstanceOf(AuthenticationError)
  })

  test('a broker whose certificate nobody vouches for is not talked to', async () => {
    const error = await failure(connect('SASL_SSL', { tls: {}, sasl: loginOf('PLAIN') }))
    expect(error.message).toMatch(/self-signed/i)
  })

  test('TLS where there is none, and none where there is, both end in an error', async () => {
    await failure(connect('PLAINTEXT', { tls: { ca: broker.ca } }))
    expect((await failure(connect('SSL', {}))).message).toContain('TLS')
  })

  test('a client certificate is shown where it is asked for, and its lack is refused for good', async () => {
    const connection = await connect('SSL', { tls: { ca: broker.ca, ...broker.client } })
    expect((await connection.send('Metadata', { topics: [] })).brokers).toHaveLength(1)
    connection.close()
    expect(await failure(connect('SSL', { tls: { ca: broker.ca } }))).toBeInstanceOf(AuthenticationError)
  })

  test('a login that runs out is renewed on the same connection', async () => {
    let aheadMs = 0
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs }
    let logins = 0
    const password = (): string => {
      logins++
      return user.password
    }
    const sasl: SaslOptions = { mechanism: 'SCRAM-SHA-512', username: user.name, password }
    const connection = await connect('SASL_SSL', { tls: { ca: broker.ca }, sasl, clock })
    aheadMs = sessionLifetimeMs
    const answers = await Promise.all([1, 2, 3].map(() => connection.send('Metadata', { topics: [] })))
    expect(answers.map(({ brokers }) => brokers.length)).toEqual([1, 1, 1])
    expect(logins).toBe(2)
    connection.close()
  })

  test('a transaction works for a user who may do no more than use its topics, group and id', async () => {
    const admin = await connect('PLAINTEXT', {})
    const topic = `${user.allowedPrefix}orders`
    const topics = [topic, 'forbidden'].map((name) => ({ name, numPartitions: 1, replicationFactor: 1, configs: [] }))
    await admin.send('CreateTopics', { topics, timeoutMs: 10_000, validateOnly: false })
    await topicIdOf(admin, topic)
    await topicIdOf(admin, 'forbidden')
    const connection = await connect('SASL_PLAINTEXT', { sasl: loginOf('PLAIN') })
    const transactionalId = `${user.allowedPrefix}transaction`
    await until(
      () => connection.send('FindCoordinator', { kind: 'TRANSACTION', key: transactionalId }),
      (answer) => answer.errorCode === 0,
    )
    const { producerId, producerEpoch } = await until(
      () =>
        connection.send('InitProducerId', {
          transactionalId,
          transactionTimeoutMs: 10_000,
          producerId: -1n,
          producerEpoch: -1,
        }),
      (answer) => answer.errorCode === 0,
    )
    const producer = { transactionalId, producerId, producerEpoch }
    const add = (name: string) =>
      connection
        .send('AddPartitionsToTxn', { ...producer, topics: [{ name, partitions: [0] }] })
        .then((answer) => answer.topics[0]?.partitions[0]?.errorCode)
    expect(await add(topic)).toBe(0)
    expect(await add('forbidden')).toBe(errorCode.TOPIC_AUTHORIZATION_FAILED)
    expect(await connection.send('EndTxn', { ...producer, committed: false })).toEqual({ errorCode: 0 })
    connection.close()
    admin.close()
  })
})
