import {
  createMemoryLogger,
  createService,
  createSupervisor,
  LifecycleError,
  OptionsError,
  type Service,
  StateError,
  StopDeadlineError,
} from '@waybill/core'
import { type Resource, type ServiceHooks } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'

/** Creates services and resources that record their events in one log. */
function setup() {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const log: string[] = []
  const service = (name: string, hooks: Partial<ServiceHooks> = {}): Service =>
    createService({
      name,
      runtime,
      async start(signal) {
        await hooks.start?.(signal)
        log.push(`${name} started`)
      },
      async stop(deadline) {
        await hooks.stop?.(deadline)
        log.push(`${name} stopped`)
      },
    })
  const resource = (name: string): Resource => ({ close: () => log.push(`${name} closed`) })
  return { runtime, logger, log, service, resource }
}

const forever = (): Promise<void> => new Promise(() => {})

function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('did not reject'),
    (error: unknown) => error,
  )
}

test('S0-160 services start in order, stop in reverse, and what they use closes last', async () => {
  const { log, runtime, service, resource } = setup()
  const app = createSupervisor({
    services: { outbox: service('outbox'), connector: service('connector') },
    resources: { pool: resource('pool'), redis: resource('redis') },
    runtime,
  })
  expect(app.state).toBe('CREATED')
  await app.start()
  expect(app.state).toBe('RUNNING')
  await app.stop()
  expect(app.state).toBe('STOPPED')
  expect(log).toEqual([
    'outbox started',
    'connector started',
    'connector stopped',
    'outbox stopped',
    'redis closed',
    'pool closed',
  ])
  expect(runtime.pending).toBe(0)
})

test('a service starts when the one before it runs, and stops when the one after it has stopped', async () => {
  const { log, runtime, service } = setup()
  const slow: Partial<ServiceHooks> = {
    start: () => runtime.timers.sleep(100),
    stop: () => runtime.timers.sleep(100),
  }
  const app = createSupervisor({ services: { one: service('one', slow), two: service('two', slow) }, runtime })
  const started = app.start()
  await runtime.advance(150)
  expect(log).toEqual(['one started'])
  await runtime.advance(50)
  await started
  const stopped = app.stop()
  await runtime.advance(150)
  expect(log).toEqual(['one started', 'two started', 'two stopped'])
  await runtime.advance(50)
  await stopped
})

describe('resources', () => {
  test.each<[string, (closed: (how: string) => void) => Resource, string]>([
    ['an AsyncDisposable', (closed) => ({ [Symbol.asyncDispose]: async () => closed('asyncDispose') }), 'asyncDispose'],
    ['a Disposable', (closed) => ({ [Symbol.dispose]: () => closed('dispose') }), 'dispose'],
    ['something with close()', (closed) => ({ close: () => closed('close') }), 'close'],
    [
      'something with all three',
      (closed) => ({
        [Symbol.asyncDispose]: async () => closed('asyncDispose'),
        [Symbol.dispose]: () => closed('dispose'),
        close: () => closed('close'),
      }),
      'asyncDispose',
    ],
    [
      'something whose close() can be awaited and whose dispose cannot',
      (closed) => ({ [Symbol.dispose]: () => closed('dispose'), close: async () => closed('close') }),
      'close',
    ],
    [
      'something whose field is only called close',
      (closed) => ({ [Symbol.dispose]: () => closed('dispose'), close: false }) as Resource,
      'dispose',
    ],
  ])('%s is closed, once', async (_, make, expected) => {
    const how: string[] = []
    const app = createSupervisor({
      services: {},
      resources: { it: make((way) => how.push(way)) },
      runtime: setup().runtime,
    })
    await app.start()
    await app.stop()
    await app.stop()
    expect(how).toEqual([expected])
  })

  test('keep their this', async () => {
    class Pool {
      closed = false
      close(): void {
        this.closed = true
      }
    }
    const pool = new Pool()
    await createSupervisor({ services: {}, resources: { pool }, runtime: setup().runtime }).stop()
    expect(pool.closed).toBe(true)
  })

  test('are closed also when start was never called, and the services are not touched', async () => {
    const { log, runtime, service, resource } = setup()
    const app = createSupervisor({
      services: { outbox: service('outbox') },
      resources: { pool: resource('pool') },
      runtime,
    })
    await app[Symbol.asyncDispose]()
    expect(log).toEqual(['pool closed'])
    expect(app.state).toBe('STOPPED')
  })
})

describe('a start that fails', () => {
  test('stops those before it, touches none behind it, closes the resources and throws the original error', async () => {
    const { log, logger, runtime, service, resource } = setup()
    const error = new Error('no broker')
    const app = createSupervisor({
      services: {
        outbox: service('outbox'),
        admin: service('admin'),
        connector: service('connector', { start: () => Promise.reject(error) }),
        console: service('console'),
      },
      resources: { pool: resource('pool') },
      runtime,
    })
    expect(await thrownBy(app.start())).toBe(error)
    expect(log).toEqual([
      'outbox started',
      'admin started',
      'connector stopped', // released by itself
      'admin stopped',
      'outbox stopped',
      'pool closed',
    ])
    expect(app.state).toBe('FAILED')
    expect(logger.lines).toMatchObject([{ level: 'ERROR', fields: { part: 'connector', err: error } }])
    await app.stop()
  })

  test('carries the failures of the stops with it', async () => {
    const { runtime, service } = setup()
    const [startError, stopError] = [new Error('no broker'), new Error('stuck')]
    const app = createSupervisor({
      name: 'shop',
      services: {
        outbox: service('outbox', { stop: () => Promise.reject(stopError) }),
        connector: service('connector', { start: () => Promise.reject(startError) }),
      },
      runtime,
    })
    const error = (await thrownBy(app.start())) as LifecycleError
    expect(error).toBeInstanceOf(LifecycleError)
    expect(error.cause).toBe(startError)
    expect(error.message).toContain('stop of outbox: Error: stuck')
  })
})

describe('a stop', () => {
  test('continues past parts that fail and names every one of them', async () => {
    const { log, runtime, service } = setup()
    const [one, two] = [new Error('one'), new Error('two')]
    const app = createSupervisor({
      name: 'shop',
      services: {
        outbox: service('outbox'),
        admin: service('admin', { stop: () => Promise.reject(one) }),
        connector: service('connector'),
      },
      resources: {
        pool: { close: () => log.push('pool closed') },
        redis: {
          close() {
            throw two
          },
        },
      },
      runtime,
    })
    await app.start()
    const error = (await thrownBy(app.stop())) as LifecycleError
    expect(error).toBeInstanceOf(LifecycleError)
    expect(error.failures).toEqual([
      { during: 'stop of admin', error: one },
      { during: 'stop of redis', error: two },
    ])
    expect(error.message).toContain('shop failed:\n  stop of admin: Error: one\n  stop of redis: Error: two')
    expect(log.slice(3)).toEqual(['connector stopped', 'outbox stopped', 'pool closed'])
    expect(app.state).toBe('FAILED')
    expect(await thrownBy(app.stop())).toBe(error)
  })

  test('shares one deadline, and a part that hangs leaves time for those behind it', async () => {
    const { log, runtime, service } = setup()
    const app = createSupervisor({
      services: {
        outbox: service('outbox', { stop: () => runtime.timers.sleep(50) }),
        connector: service('connector', { stop: forever }),
      },
      resources: { pool: { close: () => runtime.timers.sleep(20).then(() => log.push('pool closed')) } },
      runtime,
    })
    await app.start()
    const stopped = thrownBy(app.stop({ deadlineMs: 1_000 }))
    await runtime.advance(1_000)
    const error = (await stopped) as LifecycleError
    expect(error.failures.map(({ during }) => during)).toEqual(['stop of connector'])
    expect(error.cause).toBeInstanceOf(StopDeadlineError)
    expect(log).toEqual(['outbox started', 'connector started', 'outbox stopped', 'pool closed'])
  })

  test('keeps the deadline although every part hangs, and says which', async () => {
    const { runtime, service } = setup()
    const app = createSupervisor({
      services: { outbox: service('outbox', { stop: forever }), connector: service('connector', { stop: forever }) },
      resources: { pool: { close: forever } },
      runtime,
    })
    await app.start()
    const stopped = thrownBy(app.stop({ deadlineMs: 1_000 }))
    await runtime.advance(1_000)
    const { failures } = (await stopped) as LifecycleError
    expect(failures.map(({ during }) => during)).toEqual(['stop of connector', 'stop of outbox', 'stop of pool'])
  })

  test('a part that does not keep its own deadline does not break that of the whole', async () => {
    const { runtime, service, log } = setup()
    const rogue: Service = { ...service('rogue'), state: 'RUNNING', start: async () => {}, stop: forever }
    const app = createSupervisor({ name: 'shop', services: { outbox: service('outbox'), rogue }, runtime })
    await app.start()
    const stopped = thrownBy(app.stop({ deadlineMs: 1_000 }))
    await runtime.advance(1_000)
    expect(((await stopped) as StopDeadlineError).stillRunning).toEqual(['rogue', 'outbox'])
    expect(log, 'the others are still stopped').toContain('outbox stopped')
  })

  test('asked to hurry, hurries the part that is stopping and those that wait', async () => {
    const { runtime, service, log } = setup()
    let isCutOff = false
    const app = createSupervisor({
      services: {
        outbox: service('outbox'),
        connector: service('connector', {
          stop: ({ signal }) =>
            new Promise((resolve) => {
              signal.addEventListener('abort', () => {
                isCutOff = true
                resolve()
              })
            }),
        }),
      },
      runtime,
    })
    await app.start()
    const stopped = thrownBy(app.stop())
    await runtime.advance(1_000)
    expect(isCutOff).toBe(false)
    void app.stop({ deadlineMs: 0 }).catch(() => {})
    await runtime.advance(1)
    expect(await stopped).toBeInstanceOf(StopDeadlineError)
    expect(isCutOff).toBe(true)
    expect(log.slice(2)).toEqual(['outbox stopped', 'connector stopped'])
  })

  test('while starting cancels the part that starts, and starts no other', async () => {
    const { log, logger, runtime, service } = setup()
    const app = createSupervisor({
      services: {
        outbox: service('outbox'),
        connector: service('connector', { start: (signal) => runtime.timers.sleep(60_000, signal) }),
        console: service('console'),
      },
      runtime,
    })
    const started = thrownBy(app.start())
    await runtime.advance(10)
    const stopped = app.stop({ deadlineMs: 1_000 })
    await runtime.advance(0)
    await stopped
    expect(await started).toBeInstanceOf(StateError)
    expect(log).toEqual(['outbox started', 'connector stopped', 'outbox stopped'])
    expect(app.state).toBe('STOPPED')
    expect(logger.lines).toMatchObject([{ level: 'INFO', fields: { part: 'connector' } }])
    expect(runtime.pending).toBe(0)
  })
})

test('a supervisor is a service: one runs inside another', async () => {
  const { log, runtime, service, resource } = setup()
  const inner = createSupervisor({
    services: { outbox: service('outbox') },
    resources: { pool: resource('pool') },
    runtime,
  })
  const outer = createSupervisor({ services: { inner, admin: service('admin') }, runtime })
  await outer.start()
  await outer.stop()
  expect(log).toEqual(['outbox started', 'admin started', 'admin stopped', 'outbox stopped', 'pool closed'])
})

const make = (options: unknown) => () => createSupervisor(options as never)

test('says at once all that is wrong with its options', () => {
  const { service, resource } = setup()
  expect(make({})).toThrow('services is required')
  expect(make({ services: { outbox: {} }, resources: { pool: { end() {} } } })).toThrow(
    /services\.outbox must be a service, with start\(\) and stop\(\).*\n.*resources\.pool must be something to close/,
  )
  expect(make({ services: { 2: service('two') } })).toThrow('use a word')
  expect(make({ services: { pool: service('pool') }, resources: { pool: resource('pool') } })).toThrow('names both')
  expect(make({ service: {} })).toThrow(OptionsError)
})
