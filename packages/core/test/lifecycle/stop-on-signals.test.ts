import { EventEmitter } from 'node:events'
import {
  createMemoryLogger,
  createService,
  createSupervisor,
  type Service,
  type StopOnSignalsOptions,
  stopOnSignals,
} from '@waybill/core'
import { type ServiceHooks, type StopSignal } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'

/** A process that receives signals from a test, and records its exit codes. */
class ScriptedProcess {
  readonly codes: number[] = []
  readonly #signals = new EventEmitter()

  on(signal: StopSignal, listener: () => void): void {
    this.#signals.on(signal, listener)
  }

  off(signal: StopSignal, listener: () => void): void {
    this.#signals.off(signal, listener)
  }

  exit(code: number): void {
    this.codes.push(code)
  }

  /** Returns false without a listener: a real process would end. */
  send(signal: StopSignal): boolean {
    return this.#signals.emit(signal)
  }
}

function setup(hooks: Partial<ServiceHooks> = {}) {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const process = new ScriptedProcess()
  const service = createService({ name: 'worker', runtime, start: () => {}, stop: () => {}, ...hooks })
  const listen = (of: Service = service, options: StopOnSignalsOptions = {}) =>
    stopOnSignals(of, { process, runtime, ...options })
  return { logger, runtime, process, service, listen }
}

const forever = (): Promise<void> => new Promise(() => {})

test('stopOnSignals refuses what cannot be stopped before it listens', () => {
  for (const given of [undefined, {}, 'app'])
    expect(() => stopOnSignals(given as never)).toThrow('stopOnSignals takes a service or a supervisor')
})

test('stopOnSignals refuses a logger or a process without the methods that it calls', () => {
  const { service } = setup()
  const logger = { info() {} } as never
  expect(() => stopOnSignals(service, { logger })).toThrow('logger')
  expect(() => stopOnSignals(service, { process: {} as never })).toThrow('process')
})

test('work that several parts report as left is named once', () => {
  const { runtime, process, service, listen } = setup({ stop: forever, running: () => ['a handler'] })
  return runtime.run(async () => {
    const twin = createService({ name: 'twin', runtime, start() {}, stop: forever, running: () => ['a handler'] })
    const app = createSupervisor({ services: { service, twin }, runtime })
    await app.start()
    const { stopped } = listen(app)
    process.send('SIGTERM')
    expect((await stopped).stillRunning).toEqual(['a handler'])
  })
})

describe('the first signal', () => {
  test('S0-161 stops the service, reports that it is done, and ends the process', () => {
    const { runtime, process, service, listen } = setup()
    return runtime.run(async () => {
      await service.start()
      const { stopped } = listen()
      process.send('SIGTERM')
      expect(await stopped).toEqual({ signal: 'SIGTERM', isClean: true, stillRunning: [], error: undefined })
      await runtime.timers.sleep(1)
      expect([service.state, process.codes]).toEqual(['STOPPED', [0]])
    })
  })

  test('gives it the deadline, and names what has not ended by then', () => {
    const { runtime, process, service, listen, logger } = setup({ stop: forever, running: () => ['a handler'] })
    return runtime.run(async () => {
      await service.start()
      const { stopped } = listen(service, { deadlineMs: 700 })
      const before = runtime.clock.monotonic()
      process.send('SIGINT')
      expect(await stopped).toMatchObject({ signal: 'SIGINT', isClean: false, stillRunning: ['a handler'] })
      expect(runtime.clock.monotonic() - before).toBe(700)
      await runtime.timers.sleep(1)
      expect(process.codes).toEqual([1])
      expect(logger.lines.at(-1)).toMatchObject({
        text: 'Stop incomplete',
        fields: { signal: 'SIGINT', stillRunning: ['a handler'], err: { code: 'WAYBILL_STOP_DEADLINE_EXCEEDED' } },
      })
    })
  })

  test('waits 25 seconds for the service unless another deadline is given', () => {
    const { runtime, process, service, listen } = setup({ stop: forever })
    return runtime.run(async () => {
      await service.start()
      const { stopped } = listen()
      const before = runtime.clock.monotonic()
      process.send('SIGTERM')
      await stopped
      expect(runtime.clock.monotonic() - before).toBe(25_000)
    })
  })

  test('settles stopped before the process ends', () => {
    const { runtime, process, service, listen } = setup()
    return runtime.run(async () => {
      await service.start()
      const { stopped } = listen()
      const codes = stopped.then(() => process.codes.length)
      process.send('SIGTERM')
      expect(await codes).toBe(0)
    })
  })

  test("logs to the given logger instead of the runtime's", () => {
    const { runtime, process, service, listen, logger } = setup()
    const own = createMemoryLogger()
    return runtime.run(async () => {
      await service.start()
      const { stopped } = listen(service, { logger: own })
      process.send('SIGTERM')
      await stopped
      expect(own.lines.map(({ text }) => text)).toEqual(['Signal received, stopping', 'Stopped'])
      expect(logger.lines).toEqual([])
    })
  })

  test('leaves the process alone when it was asked to', () => {
    const { runtime, process, service, listen } = setup()
    return runtime.run(async () => {
      await service.start()
      const { stopped } = listen(service, { exit: false })
      process.send('SIGTERM')
      await stopped
      await runtime.timers.sleep(1)
      expect(process.codes).toEqual([])
    })
  })
})

describe('another signal', () => {
  test('is logged with the first one', () => {
    const { runtime, process, service, listen, logger } = setup({ stop: forever })
    return runtime.run(async () => {
      await service.start()
      const { stopped } = listen()
      process.send('SIGTERM')
      process.send('SIGINT')
      await stopped
      expect(logger.lines).toContainEqual(
        expect.objectContaining({
          level: 'WARN',
          text: 'Second signal received, stopping now',
          fields: { signal: 'SIGINT', first: 'SIGTERM' },
        }),
      )
    })
  })

  test('S0-161 ends the wait at once and names what is left, also under a supervisor', () => {
    const { runtime, process, service, listen } = setup({ stop: forever })
    return runtime.run(async () => {
      const app = createSupervisor({ services: { connector: service }, resources: { pool: { close() {} } }, runtime })
      await app.start()
      const { stopped } = listen(app)
      const before = runtime.clock.monotonic()
      process.send('SIGTERM')
      process.send('SIGTERM')
      expect(await stopped).toMatchObject({ isClean: false, stillRunning: ['connector', 'pool'] })
      expect(runtime.clock.monotonic()).toBe(before)
      await runtime.timers.sleep(1)
      expect(process.codes).toEqual([1])
    })
  })
})

test('signals that are not asked for, and all once it is disposed, are left to the process', () => {
  const { runtime, process, service, listen } = setup()
  return runtime.run(async () => {
    await service.start()
    const listening = listen(service, { signals: ['SIGHUP'] })
    expect([process.send('SIGTERM'), service.state]).toEqual([false, 'RUNNING'])
    listening[Symbol.dispose]()
    expect([process.send('SIGHUP'), service.state]).toEqual([false, 'RUNNING'])
  })
})
