/** All bindings of a connector, by `{cluster}:{name}`. Names alone are enough wherever they say which one is meant. */

import { BindingAlreadyExistsError, BindingNotFoundError } from '../api/connector-errors.ts'
import { defaultCluster } from '../api/define-binding.ts'

/** What the registry must know of what it keeps. */
export interface Registered {
  readonly name: string
  readonly cluster: string
  readonly topics: readonly string[]
}

/** The name under which a binding is kept. */
export function registryKey({ cluster, name }: Pick<Registered, 'cluster' | 'name'>): string {
  return `${cluster}:${name}`
}

/** Keeps bindings; neither starts nor stops any. */
export class Registry<T extends Registered> {
  readonly #byKey = new Map<string, T>()

  /** @throws BindingAlreadyExistsError */
  register(one: T): void {
    const key = registryKey(one)
    if (this.#byKey.has(key)) throw new BindingAlreadyExistsError(key)
    this.#byKey.set(key, one)
  }

  /** Takes it out and answers it; undefined when it is not there any more. */
  unregister(one: T): T | undefined {
    const key = registryKey(one)
    // Another one may have its name by now.
    if (this.#byKey.get(key) !== one) return undefined
    this.#byKey.delete(key)
    return one
  }

  /**
   * By `{cluster}:{name}`, or by name: that of the cluster `default`, else the only one that has it.
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

  /** In the order of their registration. */
  list(): readonly T[] {
    return [...this.#byKey.values()]
  }
}
