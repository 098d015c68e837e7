import { createHash, randomBytes } from 'node:crypto'
import { OptionsError, StateError } from '@waybill/core'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import { createFaultProxy, eventually, type FaultProxy, type FaultProxyOptions, leakCheck } from '@waybill/testkit'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectTo, dial, EchoServer, type TcpPeer } from './tcp-peer.ts'

interface World {
  readonly echo: EchoServer
  readonly proxy: FaultProxy
  /** A new connection through the proxy: its client and the server's end of it. */
  readonly join: () => Promise<[client: TcpPeer, served: TcpPeer]>
}

/** An echo server behind a proxy, gone when the test is. */
async function startWorld(options: Partial<FaultProxyOptions> = {}): Promise<World> {
  const echo = await EchoServer.start()
  const proxy = createFaultProxy({ target: { port: echo.port }, ...options })
  const clients: TcpPeer[] = []
  await proxy.start()
  onTestFinished(async () => {
    for (const client of clients) client[Symbol.dispose]()
    await proxy.stop()
    await echo[Symbol.asyncDispose]()
  })
  const join = async (): Promise<[TcpPeer, TcpPeer]> => {
    const served = echo.peer(echo.peers.length)
    const client = await connectTo(proxy.port)
    clients.push(client)
    return [client, await served]
  }
  return { echo, proxy, join }
}

/** Waits until the proxy's numbers are these. */
async function untilStats(proxy: FaultProxy, expected: Partial<FaultProxy['stats']>): Promise<void> {
  await eventually(() => expect(proxy.stats).toMatchObject(expected))
}

describe('without a fault', () => {
  test('bytes pass both ways on every connection, and are counted', async () => {
    const { proxy, join } = await startWorld()
    const pairs = [await join(), await join(), await join()]
    for (const [index, [client]] of pairs.entries()) client.socket.write(`hello ${index}`)
    for (const [index, [client, served]] of pairs.entries()) {
      await client.receives(`hello ${index}`)
      await served.receives(`hello ${index}`)
    }
    expect(proxy.stats).toEqual({
      accepted: 3,
      refused: 0,
      open: 3,
      toTargetBytes: 21,
      toClientBytes: 21,
      waitingBytes: 0,
      droppedBytes: 0,
    })
  })

  test('the end of a stream passes, and the other way stays open until it ends too', async () => {
    const { proxy, join } = await startWorld()
    const [client, served] = await join()
    client.socket.end('last words')
    await client.receives('last words')
    expect([await client.closed, await served.closed]).toEqual(['CLOSED', 'CLOSED'])
    await untilStats(proxy, { open: 0, toTargetBytes: 10, toClientBytes: 10 })
  })

  test.each([
    ['target', 1],
    ['client', 0],
  ])('a reset of the %s reaches the other end', async (_, resetting) => {
    const { proxy, join } = await startWorld()
    const pair = await join()
    pair[resetting]?.socket.resetAndDestroy()
    expect(await pair[1 - resetting]?.closed).toBe('ECONNRESET')
    await untilStats(proxy, { open: 0 })
  })

  test('a reset of the target reaches a client that does not read', async () => {
    const size = 32 * 1_048_576
    const { proxy, join } = await startWorld({ maxBufferedBytes: size + 1 })
    const [client, served] = await join()
    client.socket.pause()
    served.socket.unpipe()
    served.socket.write(randomBytes(size))
    await eventually(() => expect(proxy.stats.toClientBytes + proxy.stats.waitingBytes).toBe(size))
    expect(proxy.stats.waitingBytes).toBeGreaterThan(0)
    served.socket.resetAndDestroy()
    await untilStats(proxy, { open: 0 })
    // The client learns of it when it reads again: some bytes that were there before, and then no more.
    client.socket.resume()
    await client.closed
    expect(client.received.length).toBeLessThan(size)
  })

  test('a target that is not there resets the client', async () => {
    const { echo, proxy } = await startWorld()
    await echo[Symbol.asyncDispose]().catch(() => {})
    expect(await dial(proxy.port).closed).toBe('ECONNRESET')
  })
})

describe('delay', () => {
  test('lets bytes arrive when their time has come, each direction with its own', async () => {
    const runtime = createVirtualRuntime(1)
    const { proxy, join } = await startWorld({ runtime })
    const [client, served] = await join()
    proxy.delay({ toTargetMs: 100, toClientMs: 50 })
    client.socket.write('ping')
    await untilStats(proxy, { waitingBytes: 4 })
    await runtime.advance(99)
    expect(proxy.stats).toMatchObject({ toTargetBytes: 0, waitingBytes: 4 })
    await runtime.advance(1)
    await served.receives('ping')
    await untilStats(proxy, { toTargetBytes: 4, toClientBytes: 0, waitingBytes: 4 })
    await runtime.advance(50)
    await client.receives('ping')
  })

  test('holds up the end and the reset of a stream with its bytes', async () => {
    const runtime = createVirtualRuntime(1)
    const { proxy, join } = await startWorld({ runtime })
    const [ending, endingServed] = await join()
    const [resetting, resettingServed] = await join()
    proxy.delay({ toTargetMs: 100 })
    ending.socket.end()
    resetting.socket.resetAndDestroy()
    await eventually(() => expect(runtime.pending).toBe(2))
    expect([endingServed.socket.readableEnded, resettingServed.isClosed]).toEqual([false, false])
    await runtime.advance(100)
    expect([await endingServed.closed, await resettingServed.closed]).toEqual(['CLOSED', 'ECONNRESET'])
  })

  test('does not let later bytes overtake when it shrinks', async () => {
    const runtime = createVirtualRuntime(1)
    const { proxy, join } = await startWorld({ runtime })
    const [client, served] = await join()
    proxy.delay({ toTargetMs: 100 })
    client.socket.write('first ')
    await untilStats(proxy, { waitingBytes: 6 })
    proxy.delay({})
    client.socket.write('second')
    await untilStats(proxy, { waitingBytes: 12 })
    expect(proxy.stats.toTargetBytes).toBe(0)
    await runtime.advance(100)
    await served.receives('first second')
  })

  test('ends at the heal, and what was on its way arrives', async () => {
    const runtime = createVirtualRuntime(1)
    const { proxy, join } = await startWorld({ runtime })
    const [client] = await join()
    proxy.delay({ toTargetMs: 1_000, toClientMs: 1_000 })
    client.socket.write('ping')
    await untilStats(proxy, { waitingBytes: 4 })
    proxy.heal()
    await client.receives('ping')
    expect([runtime.clock.monotonic(), runtime.pending]).toEqual([0, 0])
  })

  test('keeps every byte in order however it changes', async () => {
    const steps = fc.array(fc.tuple(fc.nat(50), fc.nat(50), fc.integer({ min: 1, max: 2_000 }), fc.nat(30)), {
      minLength: 1,
      maxLength: 15,
    })
    await fc.assert(
      fc.asyncProperty(steps, async (changes) => {
        const runtime = createVirtualRuntime(1)
        const { proxy, join } = await startWorld({ runtime, maxBufferedBytes: 3_000 })
        const [client] = await join()
        let sent = ''
        for (const [toTargetMs, toClientMs, size, waitMs] of changes) {
          proxy.delay({ toTargetMs, toClientMs })
          const text = String.fromCodePoint(97 + (sent.length % 26)).repeat(size)
          client.socket.write(text)
          sent += text
          await runtime.advance(waitMs)
        }
        await eventually(async () => {
          await runtime.advance(100)
          expect(client.received.toString()).toBe(sent)
        })
      }),
      { numRuns: 15 },
    )
  })

  test('never keeps more than its bound, and the sender feels it', async () => {
    const maxBufferedBytes = 100_000
    const runtime = createVirtualRuntime(1)
    const { proxy, join } = await startWorld({ runtime, maxBufferedBytes })
    const [client, served] = await join()
    served.socket.unpipe().resume()
    proxy.delay({ toTargetMs: 1_000 })
    const sent = randomBytes(16 * 1_048_576)
    client.socket.write(sent)
    let mostWaiting = 0
    await eventually(async () => {
      await runtime.advance(500)
      mostWaiting = Math.max(mostWaiting, proxy.stats.waitingBytes)
      expect(proxy.stats.waitingBytes).toBeGreaterThanOrEqual(maxBufferedBytes)
    })
    expect(client.socket.writableLength).toBeGreaterThan(0)
    await eventually(
      async () => {
        await runtime.advance(1_000)
        mostWaiting = Math.max(mostWaiting, proxy.stats.waitingBytes)
        expect(served.received.length).toBe(sent.length)
      },
      { everyMs: 0, deadlineMs: 20_000 },
    )
    // One read of a socket is at most 64 KiB.
    expect(mostWaiting).toBeLessThan(maxBufferedBytes + 65_536)
    expect(createHash('sha1').update(served.received).digest('hex')).toBe(createHash('sha1').update(sent).digest('hex'))
  })
})

describe('hold', () => {
  test('keeps connections open and lets nothing through until the heal', async () => {
    const { proxy, join } = await startWorld()
    const [client, served] = await join()
    proxy.hold()
    client.socket.write('ping')
    served.socket.write('pong')
    await untilStats(proxy, { waitingBytes: 8, toTargetBytes: 0, toClientBytes: 0 })
    const [late, lateServed] = await join()
    late.socket.write('late')
    await untilStats(proxy, { waitingBytes: 12, open: 2 })
    expect([client.received.length, served.received.length, lateServed.received.length]).toEqual([0, 0, 0])
    proxy.heal()
    await client.receives('pongping')
    await late.receives('late')
  })

  test.each(['TO_TARGET', 'TO_CLIENT'] as const)('holds one direction alone: %s', async (direction) => {
    const { proxy, join } = await startWorld()
    const [client, served] = await join()
    proxy.hold(direction)
    client.socket.write('ping')
    if (direction === 'TO_CLIENT') await served.receives('ping')
    await untilStats(proxy, { waitingBytes: 4, toTargetBytes: direction === 'TO_CLIENT' ? 4 : 0, toClientBytes: 0 })
    proxy.heal()
    await client.receives('ping')
  })

  test('makes the death of a peer unseen until the heal', async () => {
    const { proxy, join } = await startWorld()
    const [client, served] = await join()
    proxy.hold()
    client.socket.write('x')
    await untilStats(proxy, { waitingBytes: 1 })
    client.socket.resetAndDestroy()
    await client.closed
    served.socket.write('are you there?')
    await untilStats(proxy, { waitingBytes: 15 })
    expect(served.isClosed).toBe(false)
    proxy.heal()
    expect(await served.closed).toBe('ECONNRESET')
  })

  test('reads no more than its bound, and loses nothing of what waits outside', async () => {
    const maxBufferedBytes = 50_000
    const { proxy, join } = await startWorld({ maxBufferedBytes })
    const [client, served] = await join()
    served.socket.unpipe().resume()
    proxy.hold('TO_TARGET')
    const sent = randomBytes(16 * 1_048_576)
    client.socket.write(sent)
    await eventually(() => expect(proxy.stats.waitingBytes).toBeGreaterThanOrEqual(maxBufferedBytes))
    expect(proxy.stats.waitingBytes).toBeLessThan(maxBufferedBytes + 65_536)
    proxy.heal()
    await eventually(() => expect(served.received.length).toBe(sent.length))
    expect(served.received.equals(sent)).toBe(true)
  })
})

describe('drop', () => {
  test('swallows one direction and keeps the other', async () => {
    const { proxy, join } = await startWorld()
    const [client, served] = await join()
    proxy.drop('TO_CLIENT')
    client.socket.write('ping')
    await served.receives('ping')
    await untilStats(proxy, { toTargetBytes: 4, toClientBytes: 0, droppedBytes: 4 })
    expect(client.isClosed).toBe(false)
  })

  test('resets connections with dropped bytes at the heal, and keeps the others', async () => {
    const { proxy, join } = await startWorld()
    const [loser, loserServed] = await join()
    const [client] = await join()
    proxy.drop()
    loser.socket.write('lost')
    await untilStats(proxy, { droppedBytes: 4 })
    proxy.heal()
    expect([await loser.closed, await loserServed.closed]).toEqual(['ECONNRESET', 'ECONNRESET'])
    client.socket.write('whole')
    await client.receives('whole')
    expect(proxy.stats).toMatchObject({ droppedBytes: 4, toTargetBytes: 5 })
  })

  test('swallows what was still on its way', async () => {
    const runtime = createVirtualRuntime(1)
    const { proxy, join } = await startWorld({ runtime })
    const [client, served] = await join()
    proxy.delay({ toTargetMs: 10 })
    client.socket.write('ping')
    await untilStats(proxy, { waitingBytes: 4 })
    proxy.drop('TO_TARGET')
    await runtime.advance(100)
    expect(proxy.stats).toMatchObject({ waitingBytes: 0, droppedBytes: 4, toTargetBytes: 0 })
    expect(served.received.length).toBe(0)
    expect(runtime.pending).toBe(0)
  })

  test('makes the death of a peer unseen until the heal', async () => {
    const { proxy, join } = await startWorld()
    const [client, served] = await join()
    proxy.drop()
    client.socket.end()
    served.socket.write('are you there?')
    await untilStats(proxy, { droppedBytes: 14 })
    expect([served.socket.readableEnded, proxy.stats.open]).toEqual([false, 1])
    proxy.heal()
    expect(await served.closed).toBe('ECONNRESET')
  })

  test('lets a sender send without end', async () => {
    const { proxy, join } = await startWorld({ maxBufferedBytes: 1_000 })
    const [client] = await join()
    proxy.hold('TO_TARGET')
    client.socket.write(randomBytes(4 * 1_048_576))
    await eventually(() => expect(proxy.stats.waitingBytes).toBeGreaterThanOrEqual(1_000))
    proxy.drop('TO_TARGET')
    await untilStats(proxy, { droppedBytes: 4 * 1_048_576, waitingBytes: 0 })
  })
})

describe('connections', () => {
  test('are reset by cut, at both ends', async () => {
    const { proxy, join } = await startWorld()
    const peers = [...(await join()), ...(await join())]
    proxy.cut()
    expect(await Promise.all(peers.map(({ closed }) => closed))).toEqual(Array(4).fill('ECONNRESET'))
    await untilStats(proxy, { open: 0, accepted: 2 })
    const [client] = await join()
    client.socket.write('next')
    await client.receives('next')
  })

  test('are ended in order by end, at both ends, also while held', async () => {
    const { proxy, join } = await startWorld({ maxBufferedBytes: 1_000 })
    const [client, served] = await join()
    proxy.hold()
    client.socket.write(randomBytes(16 * 1_048_576)) // More than the proxy, Node and the kernel hold.
    await eventually(() => expect(proxy.stats.waitingBytes).toBeGreaterThanOrEqual(1_000))
    proxy.end()
    expect([await client.closed, await served.closed]).toEqual(['CLOSED', 'CLOSED'])
    expect(served.received.length).toBe(0)
    await untilStats(proxy, { open: 0, waitingBytes: 0 })
  })

  test('are refused while others live on, until the heal', async () => {
    const { proxy, join } = await startWorld()
    const [old] = await join()
    proxy.refuse()
    expect(await dial(proxy.port).closed).toBe('ECONNRESET')
    expect(proxy.stats).toMatchObject({ accepted: 1, refused: 1, open: 1 })
    old.socket.write('still here')
    await old.receives('still here')
    proxy.heal()
    const [client] = await join()
    client.socket.write('again')
    await client.receives('again')
  })
})

/** Returns how many of twenty connections live after each millisecond. */
async function livesOf(runtime: VirtualRuntime): Promise<number[]> {
  const { proxy, join } = await startWorld({ runtime })
  proxy.limitLifetime({ minMs: 100, maxMs: 120 })
  const clients: TcpPeer[] = []
  for (let count = 0; count < 20; count++) clients.push((await join())[0])
  await runtime.advance(99)
  const lives: number[] = []
  for (let ms = 100; ms <= 120; ms++) {
    await runtime.advance(1)
    lives.push(runtime.pending)
  }
  expect(await Promise.all(clients.map(({ closed }) => closed))).toEqual(Array(20).fill('ECONNRESET'))
  await untilStats(proxy, { open: 0 })
  return lives
}

describe('limitLifetime', () => {
  test('resets each connection at a time of its own, the same for the same seed', async () => {
    const lives = await livesOf(createVirtualRuntime(5))
    expect(lives[0]).toBe(20)
    expect(lives.at(-1)).toBe(0)
    expect(new Set(lives).size).toBeGreaterThan(5)
    expect(await livesOf(createVirtualRuntime(5))).toEqual(lives)
    expect(await livesOf(createVirtualRuntime(6))).not.toEqual(lives)
  })

  test('is forgotten at the heal, and with a connection that ends before', async () => {
    const runtime = createVirtualRuntime(1)
    const { proxy, join } = await startWorld({ runtime })
    proxy.limitLifetime({ minMs: 100, maxMs: 100 })
    const [ending] = await join()
    const [client] = await join()
    ending.socket.end()
    await eventually(() => expect(runtime.pending).toBe(1))
    proxy.heal()
    expect(runtime.pending).toBe(0)
    await runtime.advance(1_000)
    client.socket.write('alive')
    await client.receives('alive')
  })
})

describe('stop', () => {
  test('resets everything, frees the port and leaves nothing behind', async () => {
    const runtime = createVirtualRuntime(1)
    await leakCheck(async () => {
      const echo = await EchoServer.start()
      const proxy = createFaultProxy({ target: { port: echo.port }, runtime })
      await proxy.start()
      proxy.limitLifetime({ minMs: 1_000, maxMs: 2_000 })
      const clients = [await connectTo(proxy.port), await connectTo(proxy.port)]
      proxy.delay({ toTargetMs: 1_000 })
      clients[0]?.socket.write('delayed')
      await untilStats(proxy, { waitingBytes: 7 })
      proxy.hold('TO_CLIENT')
      const { port } = proxy
      await proxy.stop()
      expect(proxy.state).toBe('STOPPED')
      expect(proxy.stats).toMatchObject({ open: 0, accepted: 2 })
      expect(await Promise.all(clients.map(({ closed }) => closed))).toEqual(['ECONNRESET', 'ECONNRESET'])
      await expect(connectTo(port)).rejects.toThrow('ECONNREFUSED')
      await echo[Symbol.asyncDispose]()
    })
    expect(runtime.pending).toBe(0)
  })

  test('is what disposing does, and does nothing before start', async () => {
    const proxy = createFaultProxy({ target: { port: 1 } })
    await proxy[Symbol.asyncDispose]()
    expect(proxy.state).toBe('STOPPED')
  })
})

describe('createFaultProxy', () => {
  test('has no port until it is started', async () => {
    const { proxy } = await startWorld()
    expect(proxy.host).toBe('127.0.0.1')
    expect(proxy.port).toBeGreaterThan(0)
    expect(() => createFaultProxy({ target: { port: 1 } }).port).toThrow(StateError)
  })

  test('listens on the port it is given, or says why it cannot', async () => {
    const { proxy } = await startWorld()
    const second = createFaultProxy({ target: { port: 1 }, port: proxy.port })
    await expect(second.start()).rejects.toThrow('EADDRINUSE')
    const { port } = proxy
    await proxy.stop()
    const third = createFaultProxy({ target: { port: 1 }, port })
    await third.start()
    expect(third.port).toBe(port)
    await third.stop()
  })

  test.each<[what: string, make: () => unknown]>([
    ['a target without a port', () => createFaultProxy({ target: {} as never })],
    ['an unknown option', () => createFaultProxy({ target: { port: 1 }, targets: [] } as never)],
    ['a negative delay', () => createFaultProxy({ target: { port: 1 } }).delay({ toTargetMs: -1 })],
    ['an unknown direction', () => createFaultProxy({ target: { port: 1 } }).drop('UP' as never)],
    [
      'a lifetime that ends before it begins',
      () => createFaultProxy({ target: { port: 1 } }).limitLifetime({ minMs: 2, maxMs: 1 }),
    ],
  ])('refuses %s', (_, make) => {
    expect(make).toThrow(OptionsError)
  })
})

test('stopping right after an orderly end closes everything', async () => {
  const { proxy, join } = await startWorld()
  const [client] = await join()
  proxy.end()
  await proxy.stop()
  expect(proxy.stats.open).toBe(0)
  await client.closed
})
