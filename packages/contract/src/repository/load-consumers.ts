import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ArgumentError, type EventCatalog, type Schemas } from '@waybill/core'
import type { ContractConsumer } from '../trial/contract-consumer.ts'
import { isCatalog } from './load-catalogs.ts'
import { loadModule } from './load-module.ts'

/** The consumers that modules export, and events to try them with. */
export interface LoadedConsumers {
  readonly consumers: readonly ContractConsumer[]
  readonly samples: Readonly<Record<string, readonly unknown[]>>
}

/**
 * Loads the consumers that modules export: results of `handleEvents`, objects with `events` and `handlers`, and catalogs, which
 * only decode. An export `samples` has lists of events by name.
 *
 * @throws ArgumentError for a module without a consumer, StateError for one that cannot be loaded
 */
export async function loadConsumers(cwd: string, paths: readonly string[]): Promise<LoadedConsumers> {
  const consumers: ContractConsumer[] = []
  const samples: Record<string, readonly unknown[]> = {}
  for (const path of paths) {
    const exported = await loadModule(cwd, path)
    const found = Object.entries(exported).flatMap(([name, value]) => consumerOf(`${path} ${name}`, value) ?? [])
    if (found.length === 0)
      throw new ArgumentError(`${path} exports no consumer.`, {
        hint: 'Export what `handleEvents` returns, an object with `events` and `handlers`, or a catalog.',
      })
    consumers.push(...found)
    Object.assign(samples, exported['samples'])
  }
  return { consumers, samples }
}

/** Returns the modules that a revision has, of those that are loaded now. */
export function existingOf(cwd: string, paths: readonly string[]): readonly string[] {
  return paths.filter((path) => existsSync(resolve(cwd, path)))
}

// The symbol by which the connector knows its handlers.
const preparer = Symbol.for('@waybill/connector/event-preparer')

function consumerOf(name: string, value: unknown): ContractConsumer | undefined {
  if (isCatalog(value)) return { name, events: value }
  if (typeof value !== 'object' || value === null) return undefined
  const { events, handlers, [preparer]: made } = value as Consuming
  const catalog: unknown = made === undefined ? events : made.events
  if (!isCatalog(catalog)) return undefined
  return { name, events: catalog, handlers: handlers as ContractConsumer['handlers'] }
}

interface Consuming {
  readonly events?: unknown
  readonly handlers?: unknown
  readonly [preparer]?: { readonly events: EventCatalog<Schemas> }
}
