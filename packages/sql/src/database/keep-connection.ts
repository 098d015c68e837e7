import { StateError } from '@waybill/core'
import { type KeptConnection, type SqlConnection } from '@waybill/core/internal'
import type { LentConnection, Library } from './library.ts'
import { keepOneOf, knownMax, type PoolSize } from './pool-room.ts'
import { type DoubtWatch, watchDoubt } from './watch-doubt.ts'

/**
 * Keeps a lent session until it is disposed, or until its state is in doubt: the library then ends it as after any
 * failure. Resolves with undefined if the size of the pool is unknown.
 *
 * @throws a StateError if the pool is too small
 */
export async function keepConnection(
  lend: Library<never>['lend'],
  size: PoolSize | undefined,
): Promise<KeptConnection | undefined> {
  if (size === undefined || knownMax(size) === undefined) return undefined
  const room = keepOneOf(size, 'the outbox')
  const obtained = Promise.withResolvers<LentConnection>()
  const ended = Promise.withResolvers<void>()
  const lent = lend(async (connection) => {
    obtained.resolve(connection)
    await ended.promise
  })
    .catch((error: unknown) => obtained.reject(error))
    .finally(() => room[Symbol.dispose]())
  const connection = await obtained.promise
  return new KeptSession(connection, ended, lent)
}

class KeptSession implements KeptConnection {
  readonly #watch: DoubtWatch
  readonly #isBroken: () => boolean
  readonly #ended: PromiseWithResolvers<void>
  readonly #lent: Promise<void>
  #work: Promise<unknown> = Promise.resolve()
  #isLost = false

  constructor(connection: LentConnection, ended: PromiseWithResolvers<void>, lent: Promise<void>) {
    this.#watch = watchDoubt(connection)
    this.#isBroken = connection.isBroken ?? (() => false)
    this.#ended = ended
    this.#lent = lent
  }

  get isLost(): boolean {
    return this.#isLost || this.#isBroken()
  }

  run<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T> {
    const work = this.#run(use)
    this.#work = work.catch(() => {}) // Its caller handles the failure.
    return work
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work
    if (this.#isLost) return // Its session may never answer.
    this.#isLost = true
    this.#ended.resolve()
    await this.#lent
  }

  async #run<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T> {
    if (this.#isLost) throw new StateError('The kept connection is gone.')
    try {
      const value = await use(this.#watch.connection)
      if (this.#watch.inDoubt()) this.#lose(new StateError('A statement was not awaited.'))
      return value
    } catch (error) {
      await this.#rollBack(error)
      throw error
    }
  }

  /** Leaves no transaction open after a failure. A session with an unanswered statement is not used again. */
  async #rollBack(error: unknown): Promise<void> {
    if (this.#watch.inDoubt()) {
      this.#lose(error)
      return
    }
    try {
      await this.#watch.connection.query('ROLLBACK', [])
    } catch (failure) {
      this.#lose(failure)
    }
  }

  #lose(reason: unknown): void {
    this.#isLost = true
    this.#ended.reject(reason)
  }
}
