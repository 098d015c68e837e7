import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Inbox } from '@waybill/core'
import { createExceptionClassifier, OptionsError } from '@waybill/core'
import { createMemoryIdempotencyStore } from '@waybill/core/idempotency'
import { orderEvents } from '@waybill/test-support/kafka'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Binding } from '../../src/api/binding.ts'
import type { ConfigCode } from '../../src/api/config-code.ts'
import type { DeadLetterRecord } from '../../src/api/dead-letter-types.ts'
import { HandlerRegistry } from '../../src/api/handler-registry.ts'
import type { DecodedRecord } from '../../src/api/handler-types.ts'
import type { ResolvedBinding } from '../../src/binding/resolved-binding.ts'
import { bindingFromConfig, bindingsFromConfig } from '../../src/config/bindings-from-config.ts'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { resolveBinding, resolveBindings } from '../../src/options/binding-options.ts'
import { bindingRules } from '../../src/options/binding-rules.ts'
import { violationsOf } from '../options/test-binding.ts'
import { collecting, connectorWorld } from '../support/connector-world.ts'

const file = (name: string): unknown => parse(readFileSync(join(import.meta.dirname, name), 'utf8'))
const handler = (): void => {}
const other = (): void => {}
const classifier = (): undefined => undefined
const byOrder = (): string => 'key'
const anInbox = (): Inbox<unknown> => ({ run: async () => 'DUPLICATE' })
const pager = { onDeadLetter: () => {} }
const code: ConfigCode = { handlers: { orders: handler, payments: handler }, alertHandlers: { default: pager } }

/** The only binding of a configuration, with everything decided. */
function resolvedFrom(data: object, given: Partial<ConfigCode> = {}): ResolvedBinding {
  const least = { topic: 'orders', groupId: 'billing' }
  return resolveBinding('orders', bindingFromConfig('orders', { ...least, ...data }, { ...code, ...given }))
}

describe('S0-049 S0-050 the sample configuration of the specification', () => {
  const bindings = bindingsFromConfig(file('application.yml'), code)
  const [orders, payments] = resolveBindings(bindings, ['default'])

  test('is accepted, with both of its bindings', () => {
    expect(Object.keys(bindings)).toEqual(['orders', 'payments'])
  })

  test('S0-049 has orders as it is written: batches, three tiers, a breaker and an alert', () => {
    expect(orders).toMatchObject({
      topic: 'orders.events',
      groupId: 'order-processing-group',
      listenerType: 'BATCH',
      ackMode: 'MANUAL_IMMEDIATE',
      concurrency: 3,
      maxPollRecords: 200,
      maxPollIntervalMs: 600_000,
      sessionTimeoutMs: 45_000,
      heartbeatIntervalMs: 10_000,
      autoStartup: true,
      staticMembership: true,
      batchFailureStrategy: 'SEEK_TO_FAILED',
      orderingMode: 'RELAXED_IN_RETRY',
      tier0: { maxAttempts: 3, backoff: { initialMs: 100, multiplier: 2, maxMs: 2_000 } },
      circuitBreaker: {
        enabled: true,
        failureRateThreshold: 50,
        slowCallRateThreshold: 80,
        slowCallDurationMs: 5_000,
        waitDurationInOpenStateMs: 60_000,
        slidingWindowSize: 100,
        minimumNumberOfCalls: 10,
        permittedNumberOfCallsInHalfOpenState: 5,
        automaticPauseOnOpen: true,
      },
      deadLetter: {
        topic: 'orders.events.DLT',
        strategy: 'ALERT_AND_STORE',
        alertHandler: pager,
        replay: { maxReplays: 3, cooldownMs: 3_600_000, batchSize: 100 },
      },
    })
    expect(orders?.tiers.map(({ topic, delayMs, maxAttempts }) => [topic, delayMs, maxAttempts])).toEqual([
      ['orders.events.retry-1', 10_000, 3],
      ['orders.events.retry-2', 60_000, 3],
      ['orders.events.retry-3', 300_000, 3],
    ])
    expect(orders?.exceptions).toEqual({
      retryableExceptions: [
        'java.net.SocketTimeoutException',
        'org.springframework.dao.OptimisticLockingFailureException',
        'org.springframework.dao.TransientDataAccessException',
      ],
      nonRetryableExceptions: [
        'com.enterprise.schema.SchemaValidationException',
        'com.enterprise.domain.BusinessRuleViolationException',
      ],
      skipToTierMapping: [['javax.ws.rs.ServiceUnavailableException', 2]],
      classifier: undefined,
    })
  })

  test('S0-050 has payments as it is written: strict, five attempts, no tiers', () => {
    expect(payments).toMatchObject({
      topic: 'payments.events',
      groupId: 'payment-processing-group',
      listenerType: 'SINGLE',
      concurrency: 2,
      orderingMode: 'STRICT',
      strictExhaustion: 'DLT',
      tier0: { maxAttempts: 5, backoff: { initialMs: 200, multiplier: 2, maxMs: 2_000 } },
      tiers: [],
      circuitBreaker: { enabled: true, failureRateThreshold: 30, automaticPauseOnOpen: true },
      deadLetter: { strategy: 'STORE_ONLY', alertHandler: undefined },
    })
  })
})

test('S0-049 S0-050 the sample configuration runs: all of its records are handled, in a batch and one by one', () =>
  connectorWorld(async ({ sim, connector, write, eventually }) => {
    sim.createTopic('orders.events', { partitions: 3 })
    sim.createTopic('payments.events', { partitions: 2 })
    const [orders, payments] = [collecting(), collecting()]
    const handlers = { orders: orders.handler, payments: payments.handler }
    const bus = connector({ bindings: bindingsFromConfig(file('application.yml'), { ...code, handlers }) })
    await bus.start()
    await write('orders.events', ['a', 'b', 'c'], 2)
    await write('payments.events', ['d', 'e'], 1)
    await eventually(() => {
      expect(orders.values).toEqual(['a', 'b', 'c'])
      expect(payments.values).toEqual(['d', 'e'])
    })
    expect(bus.health()).toMatchObject({ status: 'UP' })
  }))

test('S0-049 C-87 the sample configuration means what its author means: a timeout climbs the tiers, a malformed record is a dead letter without a call, and an error it does not list after one', () =>
  connectorWorld(async ({ sim, connector, eventually, client, sleep }) => {
    sim.createTopic('orders.events')
    sim.createTopic('payments.events')
    const calls: string[] = []
    const orders = handleEvents(orderEvents(), {
      'order.placed': ({ payload: { orderId } }, { tier }) => {
        calls.push(`${orderId} ${tier}`)
        if (orderId === 'slow' && tier < 3) throw new DOMException('the stock service is slow', 'TimeoutError')
        if (orderId === 'full' && tier < 2) throw Object.assign(new Error('full'), { status: 503 })
        if (orderId === 'wrong') throw new Error('nothing the sample lists')
      },
    })
    const letters: DeadLetterRecord[] = []
    const bindings = bindingsFromConfig(file('application.yml'), {
      handlers: { orders, payments: handler },
      alertHandlers: { default: { onDeadLetter: (letter) => void letters.push(letter) } },
    })
    const bus = connector({ bindings })
    await bus.start()
    await using producer = client.producer('EVENT')
    const ids = ['a', 'slow', 'b', 'full', 'c', 'wrong', 'd', 'e', 'f', 'g']
    const values = ids.map((orderId) => JSON.stringify({ orderId, placedAt: '2026-01-01T00:00:00.000Z' }))
    for (const [at, value] of [...values, '{ "orderId": '].entries())
      await producer.send({
        topic: 'orders.events',
        key: null,
        value: Buffer.from(value),
        headers: [
          ['id', Buffer.from(`e-${at}`)],
          ['eventType', Buffer.from('order.placed')],
        ],
      })
    await sleep(20 * 60_000)
    await eventually(() => expect(calls).toContain('slow 3'))
    const tiersOf = (order: string): unknown =>
      [0, 1, 2, 3].map((tier) => calls.filter((call) => call === `${order} ${tier}`).length)
    expect(tiersOf('a')).toEqual([1, 0, 0, 0])
    // Three calls in memory, in each of three deliveries: SEEK_TO_FAILED delivers a batch three times.
    expect(tiersOf('slow')).toEqual([9, 9, 9, 1])
    expect(tiersOf('full')).toEqual([9, 0, 1, 0])
    expect(tiersOf('wrong')).toEqual([1, 0, 0, 0])
    expect(letters.map((letter) => [letter.totalAttempts, letter.dltReason, letter.originalOffset])).toEqual([
      [1, 'NON_RETRYABLE', 5n],
      [0, 'NON_RETRYABLE', 10n],
    ])
  }))

test('S0-048 the minimal configuration is that of a binding with topic, group and handler alone', () => {
  const { notifications } = bindingsFromConfig(file('minimal.yml'), { handlers: { notifications: handler } })
  expect(notifications).toEqual({ topic: 'notification.events', groupId: 'notification-group', handler })
})

describe('S0-009 a configuration', () => {
  test('is the same with hyphens and without', () => {
    const kebab = { topic: 'a', 'group-id': 'g', retry: { tier0: { 'max-attempts': 1 }, tiers: [{ 'delay-ms': 5 }] } }
    const camel = { topic: 'a', groupId: 'g', retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 5 }] } }
    expect(bindingFromConfig('orders', kebab, code)).toEqual(bindingFromConfig('orders', camel, code))
  })

  test('may stand alone, or below eventbus beside what others read', () => {
    const bindings = { orders: { topic: 'a', groupId: 'g' } }
    const alone = bindingsFromConfig({ bindings }, code)
    expect(bindingsFromConfig({ eventbus: { bindings }, spring: { kafka: {} } }, code)).toEqual(alone)
    expect(violationsOf(() => bindingsFromConfig({ bindings, spring: {} }, code))).toEqual([
      'spring is not an option; known are bindings',
    ])
  })

  test('takes what YAML leaves empty for absent', () => {
    const text = 'topic: a\ngroup-id: g\nretry:\n  tier0:\n  # max-attempts: 5\ndlt:\n'
    expect(bindingFromConfig('orders', parse(text), code)).toEqual({ topic: 'a', groupId: 'g', retry: {}, handler })
  })

  test('leaves names alone that look like options', () => {
    const mapping = { 'group-id': 2, maxAttempts: 1 }
    expect(resolvedFrom({ retry: { 'skip-to-tier-mapping': mapping } }).exceptions.skipToTierMapping).toEqual([
      ['group-id', 2],
      ['maxAttempts', 1],
    ])
    const bindings = { 'max-poll': { topic: 'a', groupId: 'g', handler: 'orders' } }
    expect(Object.keys(bindingsFromConfig({ bindings }, code))).toEqual(['max-poll'])
  })

  test('says that an option is given twice', () => {
    const twice = { topic: 'a', groupId: 'g', 'group-id': 'h' }
    expect(violationsOf(() => bindingFromConfig('orders', twice, code))).toEqual([
      'bindings.orders.groupId is given twice, as groupId and as group-id',
    ])
  })

  test.each([[null], ['eventbus'], [[]], [undefined]])('%j is refused as a whole', (config) => {
    expect(() => bindingsFromConfig(config, code)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^Configuration: 1 invalid option:\n {2}Configuration must be an object/),
      }),
    )
  })

  test('is not trusted to have a prototype', () => {
    const hostile: unknown = JSON.parse('{"bindings":{"__proto__":{"topic":"a","groupId":"g"}}}')
    expect(violationsOf(() => bindingsFromConfig(hostile, { handlers: { __proto__: handler } }))).toEqual([
      'bindings.__proto__.handler is required: the binding names none, and there is no handler __proto__; known are none',
    ])
  })

  test('says all that is wrong with any of its bindings in one error', () => {
    const bindings = {
      orders: { topic: 'a', 'gruop-id': 'g', handler: 'ordres', retry: { tier0: { 'max-attempts': 0 } } },
      payments: { topic: 'b', 'group-id': 'g', 'session-timeout-ms': 1, cluster: 'west' },
      refunds: { topic: 'b', 'group-id': 'g', handler: 'payments' },
    }
    const run = () => bindingsFromConfig({ bindings }, { ...code, clusters: { default: {} } })
    expect(run).toThrow(OptionsError)
    expect(violationsOf(run)).toEqual([
      'bindings.orders.handler names no handler, got "ordres"; did you mean orders?',
      'bindings.orders["gruop-id"] is not an option; did you mean groupId?',
      'bindings.orders.groupId is required: a text that is not empty',
      'bindings.orders.retry.tier0.maxAttempts must be an integer from 1 to 1000, got 0',
      expect.stringMatching(/^bindings\.payments\.sessionTimeoutMs must be at least 3 x heartbeatIntervalMs/),
      'bindings.payments.cluster names no cluster of this connector, got "west"; known are default',
    ])
  })
})

describe('C-13 what is code', () => {
  test('is found by the name of the binding, or by the name that it says', () => {
    const handlers = new HandlerRegistry({ orders: handler }).register('other', other)
    expect(bindingFromConfig('orders', { topic: 'a', groupId: 'g' }, { handlers }).handler).toBe(handler)
    const named = { topic: 'a', groupId: 'g', handler: 'other' }
    expect(bindingFromConfig('orders', named, { handlers }).handler).toBe(other)
  })

  test('is refused when nothing has the name', () => {
    const data = { topic: 'a', groupId: 'g' }
    expect(violationsOf(() => bindingFromConfig('refunds', data, code))).toEqual([
      'bindings.refunds.handler is required: the binding names none, and there is no handler refunds; known are orders, payments',
    ])
    expect(violationsOf(() => bindingFromConfig('orders', { ...data, filter: 'eu' }, code))).toEqual([
      'bindings.orders.filter names no filter, got "eu"; known are none',
    ])
  })

  test('is a filter, a classifier and handlers of dead letters too', () => {
    const dead = { handle: () => Promise.resolve('KEEP' as const) } as never
    const given = {
      filters: { eu: () => true },
      classifiers: { mine: classifier },
      deadLetterHandlers: { parked: dead },
    }
    const data = {
      filter: 'eu',
      retry: { classifier: 'mine' },
      dlt: { strategy: 'CUSTOM', 'record-handler': 'parked' },
    }
    const resolved = resolvedFrom(data, given)
    expect(resolved.filter).toBe(given.filters.eu)
    expect(resolved.exceptions.classifier).toBe(classifier)
    expect(resolved.deadLetter).toMatchObject({ strategy: 'CUSTOM', recordHandler: dead })
  })

  test('is a decoder or a schema too, beside the words json and text', () => {
    const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
    const decoders = { csv: (value: Buffer) => value.toString().split(','), order: schema, json: () => 'never taken' }
    expect(resolvedFrom({ decode: 'csv' }, { decoders }).decode).toBe(decoders.csv)
    expect(resolvedFrom({ decode: 'order' }, { decoders }).decode).toBe(schema)
    expect(resolvedFrom({ decode: 'json' }, { decoders }).decode).toBe('json')
    expect(resolvedFrom({ decode: 'text' }).decode).toBe('text')
    // A handler of a file's values knows no type of them.
    const handlers = { orders: ({ value }: DecodedRecord) => void value }
    expect(resolvedFrom({ decode: 'json' }, { handlers }).handler).toBe(handlers.orders)
  })

  test('that alerts is taken by the name of the binding before the default', () => {
    const own = { onDeadLetter: () => {} }
    const alertHandlers = { default: pager, orders: own }
    const dlt = { strategy: 'ALERT_AND_STORE' }
    expect(resolvedFrom({ dlt }, { alertHandlers }).deadLetter.alertHandler).toBe(own)
    expect(resolvedFrom({ dlt: { ...dlt, alertHandler: 'default' } }, { alertHandlers }).deadLetter.alertHandler).toBe(
      pager,
    )
    expect(violationsOf(() => resolvedFrom({ dlt }, { alertHandlers: {} }))).toEqual([
      'bindings.orders.dlt.alertHandler is required with strategy ALERT_AND_STORE',
    ])
  })

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'handlers is required: a HandlerRegistry, or an object with a handler for each name'],
    ['null', null, 'must be an object, got null'],
    ['a misspelt kind', { handlers: {}, filter: {} }, 'filter is not an option; did you mean filters?'],
    ['a list', { handlers: [handler] }, 'handlers must be a HandlerRegistry, or an object'],
    [
      'a Map',
      { handlers: {}, errors: new Map() },
      'errors must be an object with code for each name, got an instance of Map',
    ],
    ['no clusters', { handlers: {}, clusters: null }, 'clusters must be an object with'],
  ])('is not %s', (_, given, problem) => {
    const data = { topic: 'a', groupId: 'g' }
    const all = () => bindingsFromConfig({ bindings: { orders: data } }, given as ConfigCode)
    const one = () => bindingFromConfig('orders', data, given as ConfigCode)
    for (const read of [all, one]) {
      expect(read).toThrow(OptionsError)
      expect(read).toThrow('The code of a configuration: 1 invalid option')
      expect(read).toThrow(problem)
    }
  })

  test('may be a HandlerRegistry, and everything else that a configuration names', () => {
    const everything: Required<ConfigCode> = {
      handlers: new HandlerRegistry({ orders: handler }),
      decoders: {},
      alertHandlers: {},
      deadLetterHandlers: {},
      filters: {},
      redactors: {},
      startOffsets: {},
      classifiers: {},
      idempotencyStores: {},
      inboxes: {},
      deduplicationKeys: {},
      errors: {},
      clusters: { default: {} },
    }
    expect(bindingFromConfig('orders', { topic: 'a', groupId: 'g' }, everything).handler).toBe(handler)
  })

  test('may stand in the configuration itself where that is no file', () => {
    expect(resolvedFrom({ handler: other }).handler).toBe(other)
  })
})

describe('errors in a configuration', () => {
  class RateLimitError extends Error {}
  const retry = {
    'retryable-exceptions': ['Busy', 'RateLimit', 'ECONNRESET'],
    'non-retryable-exceptions': ['Invalid'],
    'skip-to-tier-mapping': { RateLimit: 3, Slow: 2 },
  }
  const errors = {
    RateLimit: RateLimitError,
    Busy: (error: unknown) => (error as { status?: number }).status === 503,
    'com.shop.Unused': RateLimitError,
  }

  test('are names, and classes or predicates where the program has them by that name', () => {
    expect(resolvedFrom({ retry }, { errors }).exceptions).toEqual({
      retryableExceptions: [errors.Busy, RateLimitError, 'ECONNRESET'],
      nonRetryableExceptions: ['Invalid'],
      skipToTierMapping: [
        [RateLimitError, 3],
        ['Slow', 2],
      ],
      classifier: undefined,
    })
  })

  test('route records by class, predicate, code and name', () => {
    const classify = createExceptionClassifier(resolvedFrom({ retry }, { errors }).exceptions)
    const cases = [
      [new RateLimitError('wait'), 'SKIP_TO_TIER'],
      [Object.assign(new Error('busy'), { status: 503 }), 'NEXT_TIER'],
      [Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 'NEXT_TIER'],
      [new Error('outer', { cause: Object.assign(new Error('no'), { name: 'Invalid' }) }), 'DEAD_LETTER'],
      [new Error('anything else'), 'DEAD_LETTER'],
    ] as const
    for (const [error, routing] of cases) expect(classify(error, 0).routing).toBe(routing)
  })
})

describe('C-78 deduplicate in a configuration', () => {
  const [store, inbox, own] = [createMemoryIdempotencyStore(), anInbox(), anInbox()]
  const given = {
    idempotencyStores: { redis: store },
    inboxes: { default: inbox, billing: own },
    deduplicationKeys: { byOrder },
  }
  const from = (deduplicate: unknown) => resolvedFrom({ deduplicate }, given).deduplicate

  test('is by a store, an inbox and a key that the file names', () => {
    expect(from({ store: 'redis', key: 'byOrder' })).toEqual({ store, inbox: undefined, key: byOrder })
    expect(from({ inbox: 'billing' })).toEqual({ store: undefined, inbox: own, key: undefined })
  })

  test('IN_TRANSACTION means the inbox called as the binding, else the default', () => {
    expect(from('IN_TRANSACTION')?.inbox).toBe(inbox)
    const { deduplicate } = resolvedFrom(
      { deduplicate: 'IN_TRANSACTION' },
      { inboxes: { default: inbox, orders: own } },
    )
    expect(deduplicate?.inbox).toBe(own)
  })

  test.each([
    [{ store: 'reddis' }, 'deduplicate.store names no idempotencyStore, got "reddis"; did you mean redis?'],
    [{ inbox: 'shipping' }, 'deduplicate.inbox names no inbox, got "shipping"; known are default, billing'],
    [{ store: 'redis', key: 'byCustomer' }, 'deduplicate.key names no deduplicationKey, got "byCustomer"'],
    [
      'in-transaction',
      'deduplicate must be IN_TRANSACTION, or an object that names a store or an inbox, got "in-transaction"; did you mean IN_TRANSACTION?',
    ],
    ['redis', 'a store or an inbox, got "redis"; did you mean { store: redis }?'],
    ['billing', 'a store or an inbox, got "billing"; did you mean { inbox: billing }?'],
    ['no', 'deduplicate must be IN_TRANSACTION, or an object that names a store or an inbox, got "no"'],
    [5, 'deduplicate must be an object with a store or an inbox, got 5'],
  ])('refuses %o', (deduplicate, problem) => {
    expect(violationsOf(() => from(deduplicate))).toEqual([expect.stringContaining(problem)])
  })

  test('IN_TRANSACTION without an inbox says what to pass', () => {
    expect(violationsOf(() => resolvedFrom({ deduplicate: 'IN_TRANSACTION' }))).toEqual([
      'bindings.orders.deduplicate IN_TRANSACTION needs an inbox named orders or default: add ' +
        'inboxes: { default: createInbox(database) } to the code of the configuration; known are none',
    ])
  })
})

test('a topic between slashes is an expression', () => {
  const { selection } = resolvedFrom({ topic: '/^orders\\.[a-z]+$/i' })
  expect(selection).toEqual(/^orders\.[a-z]+$/i)
  expect(violationsOf(() => resolvedFrom({ topic: '/(/' }))).toEqual([
    'bindings.orders.topic must be a topic name or a regular expression, got "/(/": Invalid regular expression: /(/: Unterminated group',
  ])
  expect(violationsOf(() => resolvedFrom({ topic: '/a/zz' }))).toEqual([
    'bindings.orders.topic must be a topic name or a regular expression, got "/a/zz": Invalid flags supplied to RegExp constructor \'zz\'',
  ])
  const several: Partial<Binding> = { topic: ['orders', 'refunds'] }
  expect(resolvedFrom(several).selection).toEqual(['orders', 'refunds'])
})

describe('whatever a file says', () => {
  const keys = Object.keys(bindingRules).flatMap((key) => [
    key,
    key.replace(/[A-Z]/g, (one) => `-${one.toLowerCase()}`),
  ])
  const json = fc.jsonValue({ maxDepth: 3 })
  const nearlyBinding = fc.dictionary(fc.constantFrom(...keys, '__proto__', 'constructor', ''), json, { maxKeys: 8 })

  test('it is bindings, or an OptionsError that names a path for everything wrong', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          nearlyBinding.map((orders) => ({ bindings: { orders } })),
        ),
        (config) => {
          try {
            resolveBindings(bindingsFromConfig(config, code), ['default'])
          } catch (error) {
            expect(error).toBeInstanceOf(OptionsError)
            const { violations } = error as OptionsError
            expect(violations).not.toHaveLength(0)
            expect(new Set(violations.map(({ path, problem }) => `${path} ${problem}`)).size).toBe(violations.length)
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})

const refusalOf = (given: object): string => {
  try {
    bindingFromConfig('orders', { groupId: 'g', ...given }, code)
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}

describe('a topic that is written as an expression', () => {
  test.each([
    [{ topic: '^orders\\..*' }],
    [{ topic: 'orders.*' }],
    [{ topic: '/^orders' }],
    [{ 'topic-pattern': '^orders' }],
  ])('leads to a hint how a file writes one: %j', (given) => {
    expect(refusalOf(given)).toContain('a regular expression without the flags g and y, in a file as /^orders\\./')
  })

  test('stands alone: a list has names only', () => {
    expect(refusalOf({ topic: ['payments', '/^orders\\./'] })).toContain(
      'bindings.orders.topic[1] must be a name, got "/^orders\\\\./": use a single expression outside of a list, such as ' +
        '/^(orders|payments)\\./',
    )
    expect(refusalOf({ topic: ['/^a/', '/^b/'] }).match(/must be a name/g)).toHaveLength(2)
    expect(refusalOf({ topic: '/^orders\\./' })).toBe('accepted')
  })
})
