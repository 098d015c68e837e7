/** All bindings of a connector, by `{cluster}:{name}`. A name alone is enough where it is unambiguous. */

import { BindingAlreadyExistsError, BindingNotFoundError } from '../api/connector-errors.ts'
import { defaultCluster } from '../api/define-binding.ts'

/** The part of an entry that the registry uses. */
export interface Registered {
  readonly name: string
  readonly cluster: string
  readonly topics: readonly string[]
}

/** Returns the key of a binding in the registry. */
export function registryKey({ cluster, name }: Pick<Registered, 'cluster' | 'name'>): string {
  return `${cluster}:${name}`
}

/** Keeps bindings, and does not start or stop them. */
export class Registry<T extends Registered> {
  readonly #byKey = new Map<string, T>()

  /** @throws BindingAlreadyExistsError */
  register(one: T): void {
    const key = registryKey(one)
    if (this.#byKey.has(key)) throw new BindingAlreadyExistsError(key)
    this.#byKey.set(key, one)
  }

  /** Removes and returns an entry; undefined when it is no longer registered. */
  unregister(one: T): T | undefined {
    const key = registryKey(one)
    // Another binding may have its name by now.
    if (this.#byKey.get(key) !== one) return undefined
    this.#byKey.delete(key)
    return one
  }

  /**
   * Finds an entry by `{cluster}:{name}`, or by name: the one of cluster `default`, otherwise the only one of that
   * name.
   * @throws BindingNotFoundError
   */
  get(name: string): T {
    const exact = this.#byKey.get(name) ?? this.#byKey.get(registryKey({ cluster: defaultCluster, name }))
    if (exact !== undefined) return exact
    const named = this.list().filter((one) => one.name === name)
    if (named.length > 1) throw new BindingNotFoundError(name, named.map(registryKey), true)
    if (named[0] === undefined) throw new BindingNotFoundError(name, [...this.#byKey.keys()])
    return named[0]
  }

  has(one: Pick<Registered, 'cluster' | 'name'>): boolean {
    return this.#byKey.has(registryKey(one))
  }

  byTopic(topic: string): readonly T[] {
    return this.list().filter((one) => one.topics.includes(topic))
  }

  /** Returns all entries in the order of their registration. */
  list(): readonly T[] {
    return [...this.#byKey.values()]
  }
}
