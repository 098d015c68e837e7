import { ArgumentError } from '@waybill/core'
import type { Binding } from './binding.ts'

/**
 * Handlers by name, for bindings that come as data: a file or a request cannot carry a function, so it names one that
 * the program has (C-13). A binding that names none means the one called as itself.
 */
export class HandlerRegistry {
  readonly #byName = new Map<string, Binding['handler']>()

  /** @param handlers - the first ones, by their names */
  constructor(handlers: Readonly<Record<string, Binding['handler']>> = {}) {
    for (const [name, handler] of Object.entries(handlers)) this.register(name, handler)
  }

  /** @throws ArgumentError when the name is taken, since bindings that name it mean the other one. */
  register(name: string, handler: Binding['handler']): this {
    if (name === '') throw new ArgumentError('A handler needs a name that is not empty.')
    if (this.#byName.has(name)) throw new ArgumentError(`A handler '${name}' is registered already.`)
    this.#byName.set(name, handler)
    return this
  }

  /** False when there was none. Bindings that were made with it keep it. */
  unregister(name: string): boolean {
    return this.#byName.delete(name)
  }

  get(name: string): Binding['handler'] | undefined {
    return this.#byName.get(name)
  }

  /** In the order of their registration. */
  names(): readonly string[] {
    return [...this.#byName.keys()]
  }
}
