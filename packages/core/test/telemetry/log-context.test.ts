import { AsyncLocalStorage } from 'node:async_hooks'
import { createMemoryLogger, createTextLogger, type Logger } from '@waybill/core'
import {
  type LogContext,
  LogContextRunner,
  type LogContextSource,
  withContextFields,
  withLogContext,
} from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'

const context: LogContext = {
  bindingName: 'orders',
  topic: 'orders.events',
  partition: 3,
  offset: 14_209n,
  consumerGroup: 'order-group',
  consumerInstance: 'host-0',
  retryTier: 0,
}

function setup() {
  const memory = createMemoryLogger()
  return { memory, logger: withContextFields(memory) }
}

describe('log context', () => {
  test('is on a line of untyped code that gives a text alone', () => {
    const { memory, logger } = setup()
    const untyped = logger as unknown as { info(text: string): void }
    withLogContext({ bindingName: 'orders' }, () => untyped.info('shipping'))
    expect(memory.lines).toEqual([{ level: 'INFO', fields: { bindingName: 'orders' }, text: 'shipping' }])
  })

  test('is made when a line is logged and not before, where a function is given', () => {
    const { memory, logger } = setup()
    let made = 0
    const source = (): LogContext => ({ bindingName: 'orders', partition: ++made })
    withLogContext(source, () => {
      expect(made).toBe(0)
      logger.info({}, 'one')
      withLogContext(
        () => ({ retryTier: 2 }),
        () => logger.info({}, 'two'),
      )
    })
    expect(memory.lines.map(({ fields }) => fields)).toEqual([
      { bindingName: 'orders', partition: 1 },
      { bindingName: 'orders', partition: 2, retryTier: 2 },
    ])
  })

  test('S0-178 is on every line during processing, at every level, through awaits and children', async () => {
    const { memory, logger } = setup()
    const runtime = createVirtualRuntime(1)
    const processed = withLogContext(context, async () => {
      logger.debug({}, 'decoded')
      await runtime.timers.sleep(10)
      logger.info({ attempt: 1 }, 'handled')
      logger.warn({}, 'slow')
      logger.child({ orderId: '7' }).error({}, 'failed')
    })
    await runtime.advance(10)
    await processed
    const expected = { ...context, offset: '14209' }
    expect(memory.lines.map(({ fields }) => fields)).toEqual([
      expected,
      { ...expected, attempt: 1 },
      expected,
      { ...expected, orderId: '7' },
    ])
  })

  test('S0-178 has the text shape of the specification', () => {
    const lines: string[] = []
    const logger = withContextFields(createTextLogger({ write: (line) => lines.push(line) }))
    withLogContext(context, () => logger.info({}, 'Processing record'))
    expect(lines).toEqual(['INFO [orders|orders.events|3|14209|order-group|host-0] Processing record'])
  })

  test('is gone before and after', () => {
    const { memory, logger } = setup()
    logger.info({ a: 1 }, 'before')
    withLogContext(context, () => {})
    logger.info({}, 'after')
    expect(memory.lines.map(({ fields }) => fields)).toEqual([{ a: 1 }, {}])
  })

  test('of records handled side by side does not mix', async () => {
    const { memory, logger } = setup()
    const runtime = createVirtualRuntime(1)
    const handle = (partition: number, ms: number): Promise<void> =>
      withLogContext({ partition }, async () => {
        await runtime.timers.sleep(ms)
        logger.info({ took: ms }, 'handled')
      })
    const all = Promise.all([handle(0, 30), handle(1, 10), handle(2, 20)])
    await runtime.advance(30)
    await all
    expect(memory.lines.map(({ fields }) => fields)).toEqual([
      { partition: 1, took: 10 },
      { partition: 2, took: 20 },
      { partition: 0, took: 30 },
    ])
  })

  test('inside another adds to it and ends alone', () => {
    const { memory, logger } = setup()
    withLogContext({ bindingName: 'orders', retryTier: 0 }, () => {
      withLogContext({ partition: 3, retryTier: 2 }, () => logger.info({}, 'inner'))
      logger.info({}, 'outer')
    })
    expect(memory.lines.map(({ fields }) => fields)).toEqual([
      { bindingName: 'orders', partition: 3, retryTier: 2 },
      { bindingName: 'orders', retryTier: 0 },
    ])
  })

  test('yields to a field the line gives itself', () => {
    const { memory, logger } = setup()
    withLogContext(context, () => logger.info({ topic: 'orders.events.retry-1', offset: '5' }, 'published'))
    expect(memory.lines[0]?.fields).toMatchObject({ topic: 'orders.events.retry-1', offset: '5', partition: 3 })
  })

  test('does not cost an error its place', () => {
    const { memory, logger } = setup()
    const error = new Error('no broker')
    withLogContext({ bindingName: 'orders' }, () => logger.error(error, 'failed'))
    expect(memory.lines[0]?.fields).toEqual({ bindingName: 'orders', err: error })
  })

  test('writes an offset beyond the exact numbers digit by digit', () => {
    const { memory, logger } = setup()
    withLogContext({ offset: 9_007_199_254_740_993n }, () => logger.info({}, 'far'))
    expect(JSON.stringify(memory.lines[0]?.fields)).toBe('{"offset":"9007199254740993"}')
  })

  test('answers and throws what the function does', async () => {
    expect(withLogContext(context, () => 7)).toBe(7)
    expect(() =>
      withLogContext(context, () => {
        throw new Error('thrown')
      }),
    ).toThrow('thrown')
    await expect(withLogContext(context, () => Promise.reject(new Error('rejected')))).rejects.toThrow('rejected')
  })

  test('works on a logger whose methods need their this, as pino’s do', () => {
    class Needy implements Logger {
      readonly written: object[] = []
      debug(fields: object): void {
        this.written.push(fields)
      }
      info(fields: object): void {
        this.written.push(fields)
      }
      warn(fields: object): void {
        this.written.push(fields)
      }
      error(fields: object): void {
        this.written.push(fields)
      }
      child(): Logger {
        return this
      }
    }
    const needy = new Needy()
    withLogContext({ partition: 1 }, () => withContextFields(needy).child({}).info({}, 'kept'))
    expect(needy.written).toEqual([{ partition: 1 }])
  })
})

describe('a runner of log contexts', () => {
  const places = [0, 1, 2]

  test('S0-178 keeps the contexts of calls apart, through awaits and in work that outlives a call', async () => {
    const { memory, logger } = setup()
    const runtime = createVirtualRuntime(1)
    const runner = new LogContextRunner()
    const handle = async (partition: number, ms: number): Promise<void> => {
      logger.info({}, 'started')
      void runtime.timers.sleep(ms + 100).then(() => logger.info({ of: partition }, 'left behind'))
      await runtime.timers.sleep(ms)
      logger.info({ of: partition }, 'handled')
    }
    const all = Promise.all(
      places.map((partition) => runner.run(of(partition), handle, partition, 30 - partition * 10)),
    )
    await runtime.advance(200)
    await all
    expect(memory.lines.map(({ text, fields }) => [text, fields])).toEqual([
      ...places.map((partition) => ['started', { partition }]),
      ...[2, 1, 0].map((partition) => ['handled', { partition, of: partition }]),
      ...[2, 1, 0].map((partition) => ['left behind', { partition, of: partition }]),
    ])
  })

  test('leaves the context of its caller, also where the function throws', () => {
    const { memory, logger } = setup()
    const runner = new LogContextRunner()
    const logged = (text: string, result: number): number => {
      logger.info({}, text)
      return result
    }
    withLogContext({ bindingName: 'orders' }, () => {
      expect(runner.run(of(3), logged, 'inner', 7)).toBe(7)
      expect(() => runner.run(of(4), thrown, 'a', 'b')).toThrow('thrown')
      logger.info({}, 'outer')
    })
    logger.info({}, 'outside')
    expect(memory.lines.map(({ fields }) => fields)).toEqual([{ partition: 3 }, { bindingName: 'orders' }, {}])
  })

  test('makes a context when a line is logged and not before', () => {
    const { logger } = setup()
    let made = 0
    const source = { logContext: (): LogContext => ({ partition: ++made }) }
    const runner = new LogContextRunner()
    runner.run(source, () => expect(made).toBe(0), undefined, undefined)
    runner.run(source, () => logger.info({}, 'one'), undefined, undefined)
    expect(made).toBe(1)
  })

  test('calls functions in the async context that it was created in', () => {
    const request = new AsyncLocalStorage<string>()
    const runner = request.run('creator', () => new LogContextRunner())
    const seen = request.run('caller', () => [
      runner.run(of(0), () => request.getStore(), undefined, undefined),
      request.getStore(),
    ])
    expect(seen).toEqual(['creator', 'caller'])
  })
})

function of(partition: number): LogContextSource {
  return { logContext: () => ({ partition }) }
}

function thrown(): never {
  throw new Error('thrown')
}
