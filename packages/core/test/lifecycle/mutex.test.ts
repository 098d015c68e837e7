import { createNamedMutex } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

describe('a named mutex', () => {
  test('runs the tasks of one name one after another, in the order they came', async () => {
    const mutex = createNamedMutex()
    const runtime = createVirtualRuntime(1)
    const log: string[] = []
    const task = (name: string, ms: number) => async () => {
      log.push(`${name} begins`)
      await runtime.timers.sleep(ms)
      log.push(`${name} ends`)
      return name
    }
    const all = Promise.all([
      mutex.run('orders', task('pause', 30)),
      mutex.run('orders', task('resume', 5)),
      mutex.run('orders', task('stop', 1)),
    ])
    await runtime.advance(36)
    expect(await all).toEqual(['pause', 'resume', 'stop'])
    expect(log).toEqual(['pause begins', 'pause ends', 'resume begins', 'resume ends', 'stop begins', 'stop ends'])
  })

  test('never lets one name wait for another', async () => {
    const mutex = createNamedMutex()
    void mutex.run('orders', () => new Promise(() => {}))
    expect(await mutex.run('payments', () => 'ran')).toBe('ran')
  })

  test.each([
    ['rejects', () => Promise.reject(new Error('no broker'))],
    [
      'throws',
      () => {
        throw new Error('no broker')
      },
    ],
  ] as const)('a task that %s fails alone', async (_, task) => {
    const mutex = createNamedMutex()
    const failing = mutex.run('orders', task)
    const next = mutex.run('orders', () => 'ran')
    await expect(failing).rejects.toThrow('no broker')
    expect(await next).toBe('ran')
  })

  test('keeps a name only while it is used', async () => {
    const mutex = createNamedMutex()
    const tasks = Array.from({ length: 100 }, (_, index) => mutex.run(`binding-${index % 10}`, () => Promise.resolve()))
    expect(mutex.size).toBe(10)
    await Promise.all(tasks)
    expect(mutex.size).toBe(0)
  })

  test('a name of Object.prototype is a name like any other', async () => {
    const mutex = createNamedMutex()
    expect(await Promise.all([mutex.run('__proto__', () => 1), mutex.run('constructor', () => 2)])).toEqual([1, 2])
  })

  describe('with a signal', () => {
    test('a task that waits is withdrawn at once, and those around it keep their order', async () => {
      const mutex = createNamedMutex()
      const first = Promise.withResolvers<void>()
      const log: string[] = []
      const abort = new AbortController()
      const running = mutex.run('orders', () => first.promise)
      const withdrawn = mutex.run('orders', () => log.push('withdrawn'), abort.signal)
      const last = mutex.run('orders', () => log.push('last'))
      abort.abort(new Error('shutting down'))
      await expect(withdrawn).rejects.toThrow('shutting down')
      expect(log).toEqual([])
      first.resolve()
      await Promise.all([running, last])
      expect(log).toEqual(['last'])
      expect(mutex.size).toBe(0)
    })

    test('the last in line, withdrawn, does not open the door to the next', async () => {
      const mutex = createNamedMutex()
      const first = Promise.withResolvers<void>()
      const abort = new AbortController()
      const running = mutex.run('orders', () => first.promise)
      const withdrawn = mutex.run('orders', () => {}, abort.signal)
      abort.abort(new Error('shutting down'))
      await expect(withdrawn).rejects.toThrow('shutting down')
      let ran = false
      const next = mutex.run('orders', () => {
        ran = true
      })
      await Promise.resolve()
      expect(ran).toBe(false)
      first.resolve()
      await Promise.all([running, next])
    })

    test('already aborted, a task does not run even when the name is free', async () => {
      const mutex = createNamedMutex()
      await expect(mutex.run('orders', () => 'ran', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
      expect(mutex.size).toBe(0)
    })

    test('a task that runs is not disturbed, nor are those that wait behind it', async () => {
      const mutex = createNamedMutex()
      const abort = new AbortController()
      const answer = Promise.withResolvers<string>()
      const first = mutex.run('orders', () => 'first')
      const running = mutex.run('orders', () => answer.promise, abort.signal)
      const behind = mutex.run('orders', () => 'behind')
      await first
      abort.abort()
      answer.resolve('done')
      expect(await Promise.all([running, behind])).toEqual(['done', 'behind'])
    })
  })

  test('S0-075 any mix of tasks, failures and withdrawals keeps one at a time per name, first come first served', async () => {
    const taskOf = fc.record({
      name: fc.constantFrom('orders', 'payments'),
      atMs: fc.nat(20),
      takesMs: fc.nat(20),
      fails: fc.boolean(),
      withdrawnAtMs: fc.option(fc.nat(200)),
    })
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(taskOf, { maxLength: 30 }), async (seed, tasks) => {
        const runtime = createVirtualRuntime(seed)
        const mutex = createNamedMutex()
        const running = new Map<string, number>()
        const came: Record<string, number[]> = {}
        const began: Record<string, number[]> = {}
        const overlaps: string[] = []
        let settled = 0
        const count = (): number => settled++
        tasks.forEach((task, index) => {
          const abort = new AbortController()
          runtime.timers.schedule(task.atMs, () => {
            const { name } = task
            ;(came[name] ??= []).push(index)
            const run = async (): Promise<void> => {
              ;(began[name] ??= []).push(index)
              running.set(name, (running.get(name) ?? 0) + 1)
              if (running.get(name) !== 1) overlaps.push(name)
              await runtime.timers.sleep(task.takesMs)
              running.set(name, (running.get(name) ?? 0) - 1)
              if (task.fails) throw new Error('failed')
            }
            mutex.run(name, run, abort.signal).then(count, count)
          })
          if (task.withdrawnAtMs !== null) runtime.timers.schedule(task.withdrawnAtMs, () => abort.abort())
        })
        await runtime.runToIdle()
        expect(overlaps).toEqual([])
        expect(settled).toBe(tasks.length)
        expect(mutex.size).toBe(0)
        for (const [name, indexes] of Object.entries(began))
          expect(indexes).toEqual((came[name] ?? []).filter((index) => indexes.includes(index)))
      }),
    )
  })
})
