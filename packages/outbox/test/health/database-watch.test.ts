import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { DatabaseWatch } from '../../src/health/database-watch.ts'

type Use = Parameters<DatabaseWatch['database']['connection']>[0]

/** A database of which the test says what each call meets. */
function setup(connection: (use: Use) => Promise<unknown>) {
  const runtime = createVirtualRuntime(1)
  const scene = { connection }
  const watch = new DatabaseWatch({ connection: ((use: Use) => scene.connection(use)) as never }, runtime.clock)
  const call = () => watch.database.connection(async () => 'rows').catch((error: unknown) => error)
  return { runtime, scene, watch, call }
}

const never = (): Promise<never> => new Promise(() => {})
const answers = (use: Use): Promise<unknown> => use({} as never)

describe('a database', () => {
  test('that answers is no trouble, and its answers and errors pass through', async () => {
    const { runtime, scene, watch, call } = setup(answers)
    expect(await call()).toBe('rows')
    scene.connection = async () => {
      throw new Error('deadlock')
    }
    expect(await call()).toEqual(new Error('deadlock'))
    scene.connection = answers
    await call()
    await runtime.advance(60_000)
    expect(watch.trouble()).toBe(undefined)
  })

  test('whose pool gives no connection is NO_CONNECTION after five seconds, counted from the first call', async () => {
    const { runtime, watch, call } = setup(never)
    await runtime.advance(1_000)
    void call()
    await runtime.advance(4_999)
    expect(watch.trouble()).toBe(undefined)
    await runtime.advance(1)
    expect(watch.trouble()).toEqual({ kind: 'NO_CONNECTION', sinceMs: 1_000, error: undefined })
  })

  test('that does not answer a statement is NO_ANSWER, unless it answers others', async () => {
    const { runtime, scene, watch, call } = setup((use) => {
      void use({} as never)
      return never()
    })
    void call()
    await runtime.advance(10_000)
    expect(watch.trouble()?.kind).toBe('NO_ANSWER')
    scene.connection = answers
    await call()
    expect(watch.trouble()).toBe(undefined)
    await runtime.advance(60_000)
    expect(watch.trouble()).toBe(undefined)
    expect(watch.unansweredSince()).toBe(0)
  })

  test('whose statements all fail is FAILING since the first of them, with the last error', async () => {
    const { runtime, scene, watch, call } = setup(answers)
    await call()
    for (const text of ['connect ECONNREFUSED', 'server closed the connection']) {
      await runtime.advance(3_000)
      scene.connection = async () => {
        throw new Error(text)
      }
      await call()
    }
    expect(watch.trouble()).toBe(undefined)
    await runtime.advance(2_000)
    const { kind, sinceMs, error } = watch.trouble() ?? {}
    expect([kind, sinceMs]).toEqual(['FAILING', 3_000])
    expect(error).toContain('server closed the connection')
  })
})
