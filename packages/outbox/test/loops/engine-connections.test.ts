import { createMemoryLogger } from '@waybill/core'
import type { KeptConnection, SqlConnection } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { EngineConnections } from '../../src/loops/engine-connections.ts'

type Use<T> = (connection: SqlConnection) => Promise<T>

/** A pool of named connections, of which the application takes as many as it likes. */
class Pool {
  readonly #idle: string[]
  readonly #waiting: ((name: string) => void)[] = []
  readonly isKeeping: boolean
  isDown = false
  keeps = 0
  /** Whether a failed statement ends the kept connection, as one without a response does. */
  losesFailed = true
  #brokenKeeps = 0

  constructor(size: number, isKeeping = true) {
    this.#idle = Array.from({ length: size }, (_, index) => `c${index}`)
    this.isKeeping = isKeeping
  }

  async take(): Promise<string> {
    if (this.isDown) throw new Error('connection refused')
    const idle = this.#idle.shift()
    return idle ?? new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Breaks the kept connection. Its place in the pool stays taken until it is disposed. */
  breakKept(): void {
    this.#brokenKeeps = this.keeps
  }

  get idle(): number {
    return this.#idle.length
  }

  give(name: string): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(name)
    else next(name)
  }

  connection = async <T>(use: Use<T>): Promise<T> => {
    const name = await this.take()
    try {
      return await use(named(name))
    } finally {
      this.give(name)
    }
  }

  keepConnection = async (): Promise<KeptConnection | undefined> => {
    if (!this.isKeeping) return undefined
    const number = ++this.keeps
    const isBroken = (): boolean => number <= this.#brokenKeeps
    const name = await this.take()
    let isLost = false
    let work: Promise<unknown> = Promise.resolve()
    return {
      get isLost() {
        return isLost || isBroken()
      },
      run: (use) => {
        const running = use(named(name)).catch((error: unknown) => {
          if (this.losesFailed) {
            isLost = true
            this.give(name)
          }
          throw error
        })
        work = running.catch(() => {})
        return running
      },
      [Symbol.asyncDispose]: async () => {
        await work
        if (!isLost) this.give(name)
        isLost = true
      },
    }
  }
}

/** A connection whose statements answer its name. */
function named(name: string): SqlConnection {
  return { query: async () => ({ rows: [{ name }], changed: 0 }) }
}

const nameOf: Use<string> = async (connection) => String((await connection.query('', [])).rows[0]?.['name'])

async function setup(pool: Pool) {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const connections = new EngineConnections({ outbox: 'outbox', database: pool, runtime })
  await connections.start(new AbortController().signal)
  return {
    connections,
    runtime,
    lines: () => logger.lines.map(({ text }) => text),
    stop: () => connections.stop({ signal: new AbortController().signal } as never),
  }
}

describe('the connections of an engine', () => {
  test('run statements on the kept one while the application has all others', async () => {
    const pool = new Pool(4)
    const { connections, stop } = await setup(pool)
    for (let taken = 0; taken < 3; taken++) await pool.take()
    const answers = Array.from({ length: 5 }, () => connections.database.connection(nameOf))
    expect(await Promise.all([...answers, connections.leaseDatabase.connection(nameOf)])).toEqual(Array(6).fill('c0'))
    await stop()
    expect(await pool.take()).toBe('c0')
  })

  test('run statements of leases before others that wait', async () => {
    const pool = new Pool(2)
    const { connections, stop } = await setup(pool)
    await pool.take()
    const order: string[] = []
    const run = (database: 'database' | 'leaseDatabase', name: string) =>
      connections[database].connection(async () => void order.push(name))
    await Promise.all([
      run('database', 'read'),
      run('database', 'settle'),
      run('leaseDatabase', 'renew'),
      run('database', 'read again'),
      run('leaseDatabase', 'mode mark'),
    ])
    expect(order).toEqual(['read', 'renew', 'mode mark', 'settle', 'read again'])
    await stop()
  })

  test('use further connections of the pool for statements beside each other', async () => {
    const { connections, stop } = await setup(new Pool(4))
    const both = Promise.withResolvers<void>()
    let running = 0
    const meet = async (): Promise<void> => {
      if (++running === 2) both.resolve()
      await both.promise
    }
    await Promise.all([connections.database.connection(meet), connections.database.connection(meet)])
    await stop()
  })

  test('fail a statement with its own error, keep another connection, and serve from the pool meanwhile', async () => {
    const pool = new Pool(3)
    const { connections, runtime, stop } = await setup(pool)
    const failed = connections.database.connection(async () => {
      throw new Error('broken')
    })
    await expect(failed).rejects.toThrow('broken')
    expect(await connections.database.connection(nameOf)).toMatch(/^c\d$/)
    await runtime.advance(10_000)
    expect(pool.keeps).toBe(2)
    await stop()
  })

  test.each([
    ['while it is idle', nameOf],
    [
      'after a statement that the server refused',
      async () => {
        throw new Error('refused')
      },
    ],
  ] as const)('return the place of a kept connection that breaks %s to the pool', async (_when, last) => {
    const pool = new Pool(3)
    pool.losesFailed = false
    const { connections, runtime, stop } = await setup(pool)
    const ran = connections.database.connection(last).catch(() => {})
    if (last === nameOf) await ran
    pool.breakKept()
    await ran
    expect(await connections.database.connection(nameOf)).toMatch(/^c\d$/)
    await runtime.advance(10_000)
    expect([pool.keeps, pool.idle]).toEqual([2, 2])
    await stop()
    expect(pool.idle).toBe(3)
  })

  test('reject statements while the database is down, and keep one again when it is back', async () => {
    const pool = new Pool(3)
    const { connections, runtime, lines, stop } = await setup(pool)
    pool.isDown = true
    const broken = connections.database.connection(async () => {
      throw new Error('reset')
    })
    await expect(broken).rejects.toThrow('reset')
    await expect(connections.database.connection(nameOf)).rejects.toThrow('connection refused')
    await runtime.advance(60_000)
    expect(lines().filter((line) => line === 'Kept connection lost, retrying')).toHaveLength(1)
    pool.isDown = false
    await runtime.advance(10_000)
    for (let taken = 0; taken < 2; taken++) await pool.take()
    expect(await connections.database.connection(nameOf)).toMatch(/^c\d$/)
    await stop()
  })

  test('do not wait for a statement without a response when the deadline of the stop has passed', async () => {
    const pool = new Pool(2)
    const { connections } = await setup(pool)
    const unanswered = Promise.withResolvers<void>()
    const running = connections.database.connection(() => unanswered.promise)
    await connections.stop({ signal: AbortSignal.abort() } as never)
    unanswered.resolve()
    await running
  })

  test('report a pool that is exhausted within seconds, once, and when it has connections again', async () => {
    const pool = new Pool(1, false)
    const { connections, runtime, lines, stop } = await setup(pool)
    const only = await pool.take()
    const renewed = connections.leaseDatabase.connection(nameOf)
    await runtime.advance(1_000)
    expect([connections.shortage, lines()]).toEqual([undefined, []])
    await runtime.advance(5_000)
    expect(connections.shortage).toEqual({ waitingMs: 6_000, waiting: 1 })
    expect(lines()).toEqual([expect.stringContaining('connection pool is exhausted')])
    pool.give(only)
    expect(await renewed).toBe('c0')
    await runtime.advance(5_000)
    expect(connections.shortage).toBeUndefined()
    expect(lines().slice(1)).toEqual(['Connections available again'])
    await stop()
  })
})
