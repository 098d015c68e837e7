import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import { watch } from 'node:fs'
import { connect, createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import { createService, OptionsError } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { LeakError, leakCheck } from '@waybill/testkit'
import { type LeakCheckOptions } from '@waybill/testkit/internal'
import { describe, expect, onTestFinished, test } from 'vitest'

/** Runs a block that leaves something behind and answers what was found. Nothing is given time to close. */
async function leaksOf(block: () => unknown, options: LeakCheckOptions = {}): Promise<string[]> {
  const found: unknown = await leakCheck(block, { deadlineMs: 0, ...options }).catch((error: unknown) => error)
  if (!(found instanceof LeakError)) return []
  return found.leaks.map(({ kind, what }) => `${kind} ${what}`)
}

/** Ends a thing when the test is over. */
function afterTest<T>(thing: T, end: (thing: T) => unknown): T {
  onTestFinished(() => void end(thing))
  return thing
}

const listener = (): void => {}
const silent = { start: () => {}, stop: () => {} }

const leaveTimer = (ms = 1e6): void => void afterTest(setTimeout(listener, ms), clearTimeout)

const leaveService = (): Promise<void> => createService({ name: 'pool', ...silent }).start()

async function leaveServer(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  afterTest(server, () => server.close())
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

async function leaveConnection(): Promise<void> {
  const socket = connect(await leaveServer(), '127.0.0.1')
  afterTest(socket, () => socket.destroy())
  await once(socket, 'connect')
}

async function leaveStopping(): Promise<void> {
  const stopped = Promise.withResolvers<void>()
  afterTest(stopped, () => stopped.resolve())
  const service = createService({ name: 'slow', start: () => {}, stop: () => stopped.promise })
  await service.start()
  void service.stop()
}

function leaveListener(): void {
  process.on('SIGUSR2', listener)
  afterTest(process, () => process.off('SIGUSR2', listener))
}

/** Each leaves one thing behind until the test is over. */
const leaving: Record<string, [leave: () => unknown, found: string[]]> = {
  'a timer': [leaveTimer, ['TIMER a timer']],
  'a timer that does not keep the process alive': [
    () => afterTest(systemTimers.schedule(1e6, listener), (timer) => timer[Symbol.dispose]()),
    ['TIMER a timer'],
  ],
  'an interval': [() => afterTest(setInterval(listener, 1e6), clearInterval), ['TIMER a timer']],
  'a timer set by work that continues': [() => void setImmediate(() => queueMicrotask(leaveTimer)), ['TIMER a timer']],
  'a server': [leaveServer, ['SERVER a TCP server']],
  'a server and both ends of a connection': [
    leaveConnection,
    ['SERVER a TCP server', 'SOCKET a TCP connection', 'SOCKET a TCP connection'],
  ],
  'a UDP socket': [
    () => afterTest(createSocket('udp4').bind(0, '127.0.0.1'), (socket) => socket.close()),
    ['SOCKET a UDP socket'],
  ],
  'a child process': [
    () => afterTest(spawn('sleep', ['100'], { stdio: 'ignore' }), (child) => child.kill()),
    ['PROCESS a child process'],
  ],
  'a worker': [
    () => afterTest(new Worker('setInterval(() => {}, 1e6)', { eval: true }), (worker) => worker.terminate()),
    ['WORKER a worker thread'],
  ],
  'a file watcher': [
    () => afterTest(watch(import.meta.dirname), (watcher) => watcher.close()),
    ['WATCHER a file watcher'],
  ],
  'a service': [leaveService, ['SERVICE the service pool, RUNNING']],
  'a service that still stops, and the timer of its deadline': [
    leaveStopping,
    ['TIMER a timer', 'SERVICE the service slow, STOPPING'],
  ],
  'a listener of the process': [leaveListener, ['LISTENER a listener for SIGUSR2 of process']],
}

describe('leakCheck', () => {
  test('answers what a block answers that leaves nothing', async () => {
    expect(await leakCheck(() => 'sync')).toBe('sync')
    const answer = await leakCheck(async () => {
      const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const socket = connect((server.address() as { port: number }).port, '127.0.0.1').resume()
      await once(socket, 'end')
      server.close()
      clearTimeout(setTimeout(listener, 1e6))
      const service = createService({ name: 'x', ...silent })
      await service.start()
      await service.stop()
      await systemTimers.sleep(1)
      return 'clean'
    })
    expect(answer).toBe('clean')
  })

  for (const [name, [leave, found]] of Object.entries(leaving)) {
    test(`finds ${name}`, async () => {
      expect(await leaksOf(() => leave())).toEqual(found)
    })
  }

  test('says in its message what is left and where it was made', async () => {
    const failed = leakCheck(() => leaveTimer())
    await expect(failed).rejects.toThrow(
      /^1 resource is left open:\n {2}a timer, created at .*leak-check\.test\.ts:\d+:\d+/,
    )
    await expect(leakCheck(leaveConnection, { deadlineMs: 0 })).rejects.toThrow(/^3 resources are left open:\n/)
  })

  test('gives a socket time to close', async () => {
    const port = await leaveServer()
    await leakCheck(async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      setImmediate(() => setTimeout(() => socket.destroy(), 20))
    })
  })

  test('gives a timer no time to fire', async () => {
    expect(await leaksOf(() => leaveTimer(1_000), { deadlineMs: 10_000 })).toEqual(['TIMER a timer'])
  })

  test('counts each listener of the given emitters and signals', async () => {
    const emitter = new EventEmitter().on('old', listener)
    const { signal } = new AbortController()
    const leave = (): void => {
      emitter.on('new', listener).on('new', listener).on('old', listener)
      signal.addEventListener('abort', listener)
    }
    expect(await leaksOf(leave, { emitters: [emitter, signal] })).toEqual([
      'LISTENER a listener for old of EventEmitter',
      'LISTENER a listener for new of EventEmitter',
      'LISTENER a listener for new of EventEmitter',
      'LISTENER a listener for abort of AbortSignal',
    ])
    expect(await leaksOf(leave)).toEqual([])
  })

  test('lets stay what is allowed to', async () => {
    expect(await leaksOf(leaveStopping, { allow: ['TIMER'] })).toEqual(['SERVICE the service slow, STOPPING'])
    expect(await leaksOf(leaveStopping, { allow: ['TIMER', 'SERVICE'] })).toEqual([])
  })

  test('does not count what others make meanwhile, or made before', async () => {
    const ended = Promise.withResolvers<void>()
    const before = createService({ name: 'before', ...silent })
    await before.start()
    const checked = leaksOf(() => ended.promise)
    leaveTimer()
    await leaveService()
    await before.stop()
    ended.resolve()
    expect(await checked).toEqual([])
  })

  test('distinguishes two services of one name', async () => {
    const [one, other] = [createService({ name: 'twin', ...silent }), createService({ name: 'twin', ...silent })]
    const leave = async (): Promise<void> => {
      await Promise.all([one.start(), other.start()])
      await one.stop()
    }
    expect(await leaksOf(leave)).toEqual(['SERVICE the service twin, RUNNING'])
  })

  test('rejects with the error of a block that fails, whatever it leaves', async () => {
    const failed = leakCheck(() => {
      leaveTimer()
      throw new RangeError('its own')
    })
    await expect(failed).rejects.toThrow(new RangeError('its own'))
  })

  test('refuses options it does not know', async () => {
    await expect(leakCheck(() => {}, { allow: ['TIMERS'] } as never)).rejects.toThrow(OptionsError)
    await expect(leakCheck(() => {}, { emitters: [{}] } as never)).rejects.toThrow(OptionsError)
  })
})
