import { Buffer } from 'node:buffer'
import { createMemoryLogger, type Runtime, runtimeWith, StateError, WaybillError } from '@waybill/core'
import { OptionsError } from '@waybill/core/option'
import { createKafkaClient, type KafkaClient, type KafkaClientOptions } from '@waybill/kafka'
import { errorCode } from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import { intercepted } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'

type Made = AsyncDisposable & { readonly end: () => PromiseLike<void> }

const kinds: Readonly<Record<string, (client: KafkaClient) => Promise<AsyncDisposable>>> = {
  consumer: async (client) => {
    const consumer = client.consumer({ groupId: 'group', topics: ['orders'] })
    await consumer.start()
    return consumer
  },
  producer: async (client) => client.producer('EVENT'),
  'transactional producer': async (client) => client.transactionalProducer('transactional'),
  'fenced appender': (client) => client.fencedAppender('fenced'),
}

/** Counts how often the client ends what it made. */
async function watched(client: KafkaClient, make: (client: KafkaClient) => Promise<AsyncDisposable>): Promise<Made> {
  const one = await make(client)
  const end = one[Symbol.asyncDispose].bind(one)
  return Object.assign(one, {
    end: async () => {
      await end()
    },
  })
}

/** A client of a cluster with one topic. */
function clientOfOrders(): KafkaClient {
  const sim = createSimCluster()
  sim.createTopic('orders', { partitions: 1 })
  return createKafkaClient({ brokers: sim.brokers, transport: sim.transport('test') })
}

/** Returns the log lines of a client that is created and closed. */
async function linesOf(options: Omit<KafkaClientOptions, 'brokers' | 'runtime'>): Promise<string> {
  const logger = createMemoryLogger()
  await createKafkaClient({ brokers: ['127.0.0.1:1'], runtime: runtimeWith({ logger }), ...options }).close()
  return JSON.stringify(logger.lines)
}

describe('a login without TLS', () => {
  const login = { username: 'shipping', password: 'hidden' } as const

  test.each([
    ['PLAIN', { sasl: { mechanism: 'PLAIN', ...login } }],
    ['OAUTHBEARER', { sasl: { mechanism: 'OAUTHBEARER', token: 'hidden' }, tls: false }],
  ] as const)('is warned of when it sends the secret: %s', async (mechanism, options) => {
    const warnings = await linesOf(options)
    expect(warnings).toContain('SASL credentials sent without TLS')
    expect(warnings).toContain(mechanism)
    expect(warnings).not.toContain('hidden')
  })

  test.each([
    ['SCRAM, which sends none', { sasl: { mechanism: 'SCRAM-SHA-512', ...login } }],
    ['PLAIN with TLS', { sasl: { mechanism: 'PLAIN', ...login }, tls: {} }],
    ['no login', {}],
  ] as const)('is not warned of: %s', async (_, options) => {
    expect(await linesOf(options)).toBe('[]')
  })
})

describe.each(Object.keys(kinds))('a client that made a %s', (kind) => {
  const make = kinds[kind] as (client: KafkaClient) => Promise<AsyncDisposable>

  test('ends it when it is closed', async () => {
    const client = clientOfOrders()
    const one = await watched(client, make)
    let ends = 0
    one[Symbol.asyncDispose] = () => {
      ends++
      return one.end()
    }
    await client.close()
    expect(ends).toBe(1)
  })

  test('forgets it once it is over', async () => {
    const client = clientOfOrders()
    const one = await watched(client, make)
    await one.end()
    let ends = 0
    one[Symbol.asyncDispose] = async () => {
      ends++
    }
    await client.close()
    expect(ends).toBe(0)
  })
})

describe('options of a client', () => {
  const sim = createSimCluster()
  const made = (options: Partial<KafkaClientOptions>): (() => unknown) => {
    return () => createKafkaClient({ brokers: sim.brokers, transport: sim.transport('test'), ...options })
  }

  test.each(['a:0', 'a:65536', 'a:99999', 'a', 'a:', ':1', 'a b:1', 'a:1x'])('refuse the broker %j', (broker) => {
    expect(made({ brokers: [broker] })).toThrow(OptionsError)
  })

  test.each(['a:1', 'a:65535', '[::1]:9092', 'kafka.example.org:9092'])('take the broker %j', (broker) => {
    expect(made({ brokers: [broker] })).not.toThrow()
  })

  test('refuse a name that is longer than brokers take', () => {
    expect(made({ clientId: 'x'.repeat(250) })).toThrow(OptionsError)
    expect(made({ clientId: 'x'.repeat(249) })).not.toThrow()
  })

  test.each([
    ['ssl', 'tls: {}'],
    ['bootstrapServers', 'brokers'],
    ['bootstrap.servers', 'brokers'],
    ['authentication', 'sasl'],
  ])('suggest the own name of %s, which other clients use', (name, meant) => {
    const given = { brokers: ['a:1'], [name]: 'hunter2' } as unknown as KafkaClientOptions
    expect(() => createKafkaClient(given)).toThrow(`is not an option; did you mean ${meant}?`)
    expect(() => createKafkaClient(given)).not.toThrow(/hunter2/)
  })

  test.each(['sasl', 'tls'])('do not show what was given for %s', (name) => {
    const given = { brokers: ['a:1'], [name]: 'hunter2' } as unknown as KafkaClientOptions
    expect(() => createKafkaClient(given)).toThrow(OptionsError)
    expect(() => createKafkaClient(given)).not.toThrow(/hunter2/)
  })
})

test('an impatient user of the client does not keep the others from learning of the cluster', () => {
  const runtime = createVirtualRuntime(1)
  return runtime.run(async () => {
    const sim = createSimCluster({ runtime })
    sim.createTopic('t')
    const slow = intercepted(sim.transport('test'), async (api, _request, pass) => {
      if (api === 'Metadata') await runtime.timers.sleep(150)
      return pass()
    })
    const client = createKafkaClient({ brokers: sim.brokers, transport: slow, runtime })
    const impatient = client.consumer({ groupId: 'g', topics: ['nope'], requestTimeoutMs: 100 })
    let isOver = false
    const restarting = (async () => {
      while (!isOver) await impatient.start().catch(() => {})
    })()
    const producer = client.producer('EVENT', { deliveryTimeoutMs: 5_000, requestTimeoutMs: 2_000 })
    try {
      const written = await producer.send({ topic: 't', key: null, value: Buffer.from('x') })
      expect(written).toMatchObject({ offset: 0n })
    } finally {
      isOver = true
      await restarting
      await client.close()
    }
  })
})

/** On virtual time, with a client and the cluster it speaks to. */
async function inVirtualTime(
  program: (client: KafkaClient, sim: SimCluster, runtime: Runtime) => Promise<void>,
): Promise<void> {
  const runtime = createVirtualRuntime(1)
  const sim = createSimCluster({ runtime })
  sim.createTopic('orders', { partitions: 1 })
  const client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('test'), runtime })
  await runtime.run(() => program(client, sim, runtime))
}

function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('It was expected to reject.'),
    (error: unknown) => error,
  )
}

describe('a client that is being closed', () => {
  const record = { topic: 'orders', partition: 0, key: null, value: null }

  test('resolves every close() once all its resources have ended', () =>
    inVirtualTime(async (client, sim, { timers }) => {
      const producer = client.producer('EVENT')
      await producer.send(record)
      const held = sim.stall({ api: 'Produce' })
      const last = producer.send(record)
      await timers.sleep(10)
      let isClosed = false
      const closings = [client.close(), client.close(), client[Symbol.asyncDispose]()]
      for (const one of closings) void one.then(() => (isClosed = true))
      await timers.sleep(100)
      expect(isClosed).toBe(false)
      held[Symbol.dispose]()
      expect(await last).toEqual({ partition: 0, offset: 1n })
      await Promise.all(closings)
    }))

  test('hands out no fenced appender that would outlive it', () =>
    inVirtualTime(async (client, sim, { timers }) => {
      const producer = client.producer('EVENT')
      await producer.send(record)
      const produce = sim.stall({ api: 'Produce' })
      const last = producer.send(record)
      const init = sim.stall({ api: 'InitProducerId' })
      const appender = client.fencedAppender('late')
      await timers.sleep(10)
      const closing = client.close()
      init[Symbol.dispose]()
      await expect(appender).rejects.toThrow(StateError)
      produce[Symbol.dispose]()
      await Promise.all([last, closing])
    }))

  test('ends the wait of a fenced appender for its epoch when it closes', () =>
    inVirtualTime(async (client, sim, { timers }) => {
      using _ = sim.stall({ api: 'InitProducerId' })
      const appender = client.fencedAppender('never')
      const refused = rejectionOf(appender)
      await timers.sleep(10)
      await client.close()
      expect(await refused).toBeInstanceOf(WaybillError)
    }))

  test('takes no epoch for an appender that was given up while its coordinator refused', () =>
    inVirtualTime(async (client, sim, { timers }) => {
      const givenUp = new AbortController()
      const former = await client.fencedAppender('shared')
      for (let tries = 0; tries < 3; tries++) sim.failNext('InitProducerId', errorCode.COORDINATOR_LOAD_IN_PROGRESS)
      const late = rejectionOf(client.fencedAppender('shared', {}, givenUp.signal))
      await timers.sleep(10)
      givenUp.abort()
      expect(await late).toBeInstanceOf(WaybillError)
      await timers.sleep(1_000)
      await expect(former.append(record)).resolves.toMatchObject({ offset: 0n })
    }))

  test('rejects pending admin calls when it closes', () =>
    inVirtualTime(async (client, sim, { timers }) => {
      for (let tries = 0; tries < 100; tries++) sim.failNext('CreateTopics', errorCode.NOT_CONTROLLER)
      const creation = client.admin.createTopics([{ topic: 'new', partitions: 1, replication: 1 }])
      const cut = rejectionOf(creation)
      await timers.sleep(1_000)
      await client.close()
      expect(await cut).toBeInstanceOf(StateError)
    }))
})
