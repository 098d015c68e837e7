import { TransportError, UnsupportedApiError } from '@waybill/kafka/wire'
import { createVirtualRuntime } from '@waybill/sim'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import { createNodes, type Nodes } from '../../../src/client/cluster/nodes.ts'
import { ManualTransport, ScriptedConnection } from '../scripted-transport.ts'

const node = { host: 'a', port: 1 }
const other = { host: 'b', port: 1 }
const brokersOnly = { topics: [] }
const answer = { brokers: [], clusterId: null, controllerId: 1, topics: [] }

watchRejections()

function setUp({ isShared = false, ...options }: { honoursAbort?: boolean; isShared?: boolean } = {}) {
  const runtime = createVirtualRuntime(1)
  const transport = new ManualTransport(options)
  const nodes = createNodes(transport, 'test', runtime, { isShared })
  return { runtime, transport, nodes }
}

const ask = (nodes: Nodes, timeoutMs = 100): Promise<unknown> =>
  nodes.send(node, 'Metadata', brokersOnly, timeoutMs).catch((error: unknown) => error)

function kindOf(settled: unknown): string {
  expect(settled).toBeInstanceOf(KafkaError)
  return (settled as KafkaError).kind
}

describe('connections', () => {
  test('one is opened when first needed and serves all that follows', async () => {
    const { runtime, transport, nodes } = setUp()
    const both = [ask(nodes), ask(nodes)]
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    for (const request of connection.requests) request.answer(answer)
    expect(await Promise.all(both)).toEqual([answer, answer])
    const third = ask(nodes)
    await runtime.advance(0)
    connection.requests[2]?.answer(answer)
    expect(await third).toEqual(answer)
    expect(transport.attempts).toHaveLength(1)
    expect(runtime.pending).toBe(0)
  })

  test('on one that is open a request is written before anything else happens', async () => {
    const { runtime, transport, nodes } = setUp()
    const first = ask(nodes)
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    connection.requests[0]?.answer(answer)
    await first
    const second = ask(nodes)
    expect(connection.requests).toHaveLength(2)
    connection.requests[1]?.answer(answer)
    expect(await second).toEqual(answer)
  })

  test('each node has its own', async () => {
    const { runtime, transport, nodes } = setUp()
    const mine = ask(nodes)
    const others = nodes.send(other, 'Metadata', brokersOnly, 100)
    transport.attempt(0).refuse()
    const connection = transport.attempt(1).open()
    await runtime.advance(0)
    connection.requests[0]?.answer(answer)
    expect(await others).toEqual(answer)
    expect(kindOf(await mine)).toBe('RETRIABLE')
  })

  test('one that cannot be opened is tried anew at the next request', async () => {
    const { transport, nodes } = setUp()
    const first = ask(nodes)
    transport.attempt(0).refuse()
    expect(kindOf(await first)).toBe('RETRIABLE')
    const second = ask(nodes)
    expect(transport.attempts).toHaveLength(2)
    transport.attempt(1).refuse()
    await second
  })

  test('one that ended is replaced at the next request', async () => {
    const { runtime, transport, nodes } = setUp()
    const first = ask(nodes)
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    connection.endWith(new Error('reset by peer'))
    expect(kindOf(await first)).toBe('UNKNOWN')
    const second = ask(nodes)
    const next = transport.attempt(1).open()
    await runtime.advance(0)
    next.requests[0]?.answer(answer)
    expect(await second).toEqual(answer)
  })
})

describe('a request that is made when it is sent', () => {
  test('is made once the connection is open, and not before', async () => {
    const { runtime, transport, nodes } = setUp()
    let topics = ['early']
    const sending = nodes.send(node, 'Metadata', () => ({ topics }), 100)
    topics = ['late']
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    expect(connection.requests[0]?.request).toEqual({ topics: ['late'] })
    connection.requests[0]?.answer(answer)
    expect(await sending).toEqual(answer)
  })

  test('sends nothing when making it is refused, and leaves the connection to others', async () => {
    const { runtime, transport, nodes } = setUp()
    const objection = new KafkaError('It is not ours any more.', 'REBALANCING')
    const refused = nodes
      .send(
        node,
        'Metadata',
        () => {
          throw objection
        },
        100,
      )
      .catch((error: unknown) => error)
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    expect(await refused).toBe(objection)
    expect([connection.requests, connection.isClosed, runtime.pending]).toEqual([[], false, 0])
  })
})

describe('time-outs', () => {
  test('while connecting nothing was sent: the attempt is given up, and the request may be made again', async () => {
    const { runtime, transport, nodes } = setUp()
    const late = ask(nodes)
    await runtime.advance(100)
    expect(kindOf(await late)).toBe('RETRIABLE')
    expect(transport.attempt(0).signal?.aborted).toBe(true)
  })

  test('a connection that opens too late carries nothing, because its caller already has the error', async () => {
    const { runtime, transport, nodes } = setUp({ honoursAbort: false })
    const late = ask(nodes)
    await runtime.advance(100)
    expect(kindOf(await late)).toBe('RETRIABLE')
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    expect(connection.requests).toEqual([])
    expect(connection.isClosed).toBe(true)
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'a connection that opens in the very moment of the time-out: what is called not sent was not (seed %i)',
    async (seed) => {
      const runtime = createVirtualRuntime(seed)
      const transport = new ManualTransport({ honoursAbort: false })
      const nodes = createNodes(transport, 'test', runtime)
      const connection = new ScriptedConnection()
      runtime.timers.schedule(100, () => void transport.attempt(0).open(connection))
      const late = ask(nodes, 100)
      await runtime.advance(100)
      expect([kindOf(await late), connection.requests.length]).toEqual(
        connection.requests.length === 0 ? ['RETRIABLE', 0] : ['UNKNOWN', 1],
      )
    },
  )

  test('a late response ends its connection, and every request on it with an unknown outcome', async () => {
    const { runtime, transport, nodes } = setUp()
    const impatient = ask(nodes, 100)
    const patient = ask(nodes, 10_000)
    const connection = transport.attempt(0).open()
    await runtime.advance(100)
    expect(kindOf(await impatient)).toBe('UNKNOWN')
    expect(kindOf(await patient)).toBe('UNKNOWN')
    expect(connection.isClosed).toBe(true)
    expect(runtime.pending).toBe(0)
  })

  test('a response after the timeout is ignored', async () => {
    const { runtime, transport, nodes } = setUp()
    const late = ask(nodes)
    const connection = transport.attempt(0).open()
    await runtime.advance(100)
    await late
    const next = ask(nodes)
    connection.requests[0]?.answer({ ...answer, controllerId: 99 })
    const fresh = transport.attempt(1).open()
    await runtime.advance(0)
    fresh.requests[0]?.answer(answer)
    expect(await next).toEqual(answer)
  })

  test('a time-out ends its own connection and never the one that took its place', async () => {
    const { runtime, transport, nodes } = setUp({ honoursAbort: false })
    const first = ask(nodes, 100)
    const second = ask(nodes, 200)
    await runtime.advance(150)
    expect(kindOf(await first)).toBe('RETRIABLE')
    const third = ask(nodes, 1_000)
    const replacement = transport.attempt(1).open()
    // The second request still waits for the attempt that was given up, and its time ends now.
    await runtime.advance(60)
    expect(kindOf(await second)).toBe('RETRIABLE')
    expect(replacement.isClosed).toBe(false)
    replacement.requests[0]?.answer(answer)
    expect(await third).toEqual(answer)
    // The one that was given up opens and ends after all: its successor stays in its place.
    transport.attempt(0).open()
    await runtime.advance(0)
    const fourth = ask(nodes)
    await runtime.advance(0)
    replacement.requests[1]?.answer(answer)
    expect(await fourth).toEqual(answer)
    expect(transport.attempts).toHaveLength(2)
  })

  test('another request that waits for the same connection fails at once as not sent', async () => {
    const { runtime, nodes } = setUp()
    const impatient = ask(nodes, 100)
    const patient = ask(nodes, 10_000)
    await runtime.advance(100)
    expect(kindOf(await impatient)).toBe('RETRIABLE')
    expect(kindOf(await patient)).toBe('RETRIABLE')
    expect(runtime.pending).toBe(0)
  })
})

describe('on a shared connection', () => {
  test('a late response to one request leaves the others waiting, and no new request uses the connection', async () => {
    const { runtime, transport, nodes } = setUp({ isShared: true })
    const impatient = ask(nodes, 100)
    const patient = ask(nodes, 10_000)
    const connection = transport.attempt(0).open()
    await runtime.advance(100)
    expect(kindOf(await impatient)).toBe('UNKNOWN')
    expect(connection.isClosed).toBe(false)
    const next = ask(nodes)
    expect(transport.attempts).toHaveLength(2)
    transport.attempt(1).refuse()
    await next
    connection.requests[1]?.answer(answer)
    expect(await patient).toEqual(answer)
    await runtime.advance(0)
    expect([connection.isClosed, runtime.pending]).toEqual([true, 0])
  })

  test('one that is late while it is opened leaves the attempt to the others, and sends nothing itself', async () => {
    const { runtime, transport, nodes } = setUp({ isShared: true })
    const impatient = ask(nodes, 100)
    const patient = nodes.send(node, 'Metadata', { topics: ['patient'] }, 10_000)
    await runtime.advance(100)
    expect(kindOf(await impatient)).toBe('RETRIABLE')
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    expect(connection.requests.map(({ request }) => request)).toEqual([{ topics: ['patient'] }])
    connection.requests[0]?.answer(answer)
    expect(await patient).toEqual(answer)
  })

  test('the last one that gives up ends it, and so does closing', async () => {
    const { runtime, transport, nodes } = setUp({ isShared: true })
    const both = [ask(nodes, 100), ask(nodes, 200)]
    const connection = transport.attempt(0).open()
    await runtime.advance(150)
    expect(connection.isClosed).toBe(false)
    await runtime.advance(50)
    expect(connection.isClosed).toBe(true)
    expect((await Promise.all(both)).map(kindOf)).toEqual(['UNKNOWN', 'UNKNOWN'])
    const others = [ask(nodes, 100), ask(nodes, 200)]
    const second = transport.attempt(1).open()
    await runtime.advance(150)
    nodes.close()
    expect((await Promise.all(others)).map(kindOf)).toEqual(['UNKNOWN', 'UNKNOWN'])
    expect([second.isClosed, runtime.pending]).toEqual([true, 0])
  })
})

describe('what the transport throws', () => {
  test.each([
    ['NOT_SENT', new TransportError('x', 'NOT_SENT'), 'RETRIABLE'],
    ['UNKNOWN', new TransportError('x', 'UNKNOWN'), 'UNKNOWN'],
    ['a final one', new UnsupportedApiError('x', 'NOT_SENT'), 'FATAL'],
    ['anything else', new Error('x'), 'FATAL'],
  ])('%s is sorted', async (_, error, kind) => {
    const { runtime, transport, nodes } = setUp()
    const failing = ask(nodes)
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    connection.requests[0]?.fail(error)
    const settled = await failing
    expect(kindOf(settled)).toBe(kind)
    expect((settled as Error).cause).toBe(error)
  })

  test('a transport that throws instead of rejecting does no more harm', async () => {
    const runtime = createVirtualRuntime(1)
    const nodes = createNodes(
      {
        connect() {
          throw new TransportError('x', 'NOT_SENT')
        },
      },
      'test',
      runtime,
    )
    expect(kindOf(await ask(nodes))).toBe('RETRIABLE')
  })
})

describe('closing', () => {
  test('ends what is open, gives up what is opening, and refuses what comes later', async () => {
    const { runtime, transport, nodes } = setUp()
    const waiting = ask(nodes)
    const connection = transport.attempt(0).open()
    await runtime.advance(0)
    const connecting = nodes.send(other, 'Metadata', brokersOnly, 100).catch((error: unknown) => error)
    nodes.close()
    expect(kindOf(await waiting)).toBe('UNKNOWN')
    expect(kindOf(await connecting)).toBe('RETRIABLE')
    expect(connection.isClosed).toBe(true)
    expect(transport.attempt(1).signal?.aborted).toBe(true)
    expect(kindOf(await ask(nodes))).toBe('FATAL')
    expect(transport.attempts).toHaveLength(2)
    expect(runtime.pending).toBe(0)
  })

  test('a connection that opens in the turn of the closing carries nothing', async () => {
    const { runtime, transport, nodes } = setUp({ honoursAbort: false })
    const connecting = ask(nodes)
    const connection = transport.attempt(0).open()
    nodes.close()
    expect(kindOf(await connecting)).toBe('RETRIABLE')
    await runtime.advance(0)
    expect(connection.requests).toEqual([])
    expect(connection.isClosed).toBe(true)
  })
})
