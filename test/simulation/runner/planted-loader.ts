/**
 * Loads a simulation repeatedly, each time with another bug in it. Only the files that lead to the bug are reloaded.
 * All others are shared, which saves most of the loading time.
 */

import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { Mutant, PlantedEdit, Simulation } from '../simulation.ts'
import { loadSimulation } from '../simulations.ts'
import { editsByAddress, plantedSource } from './plant-mutant.ts'

/** Distinguishes the files of one bug from the same files without it. */
const mark = '?planted='

/** A bug, and the files it affects. */
interface Planting {
  readonly mutant: Mutant
  readonly edits: ReadonlyMap<string, readonly PlantedEdit[]>
  /** The files with the bug and all that import them, directly or not. */
  readonly affected: ReadonlySet<string>
}

/** Loads one simulation with any of its bugs. */
export class PlantedLoader {
  readonly #module: string
  #name = ''
  /** Importers by file address. */
  readonly #importers = new Map<string, Set<string>>()
  /** By planting number. */
  readonly #plantings = new Map<string, Planting>()

  private constructor(module: string) {
    this.#module = module
  }

  /** Loads the simulation without a bug, which records the imports. */
  static async open(module: string): Promise<PlantedLoader> {
    const loader = new PlantedLoader(module)
    registerHooks({
      resolve: (specifier, context, nextResolve) => {
        const resolved = nextResolve(specifier, context)
        return { ...resolved, url: loader.#resolved(resolved.url, context.parentURL ?? '') }
      },
      load: (url, context, nextLoad) => {
        const loaded = nextLoad(url, context)
        const source = loader.#sourceOf(url)
        return source === undefined ? loaded : { ...loaded, source }
      },
    })
    loader.#name = (await loadSimulation(module)).name
    return loader
  }

  /** Loads the simulation with the bug in it. Rejects when its text is not in a file that the simulation loads. */
  async load(mutant: Mutant): Promise<Simulation> {
    const edits = editsByAddress(mutant)
    for (const [address, [edit]] of edits)
      if (!this.#importers.has(address)) throw new Error(`The simulation "${this.#name}" does not load ${edit?.file}.`)
    const number = String(this.#plantings.size)
    this.#plantings.set(number, { mutant, edits, affected: this.#leadingTo(edits.keys()) })
    return loadSimulation(`${this.#module}${mark}${number}`)
  }

  /** Resolves imports of an affected file to the affected version. */
  #resolved(url: string, importer: string): string {
    const [, number] = importer.split(mark)
    if (number !== undefined)
      return this.#plantings.get(number)?.affected.has(url) === true ? `${url}${mark}${number}` : url
    const importers = this.#importers.get(url) ?? new Set()
    this.#importers.set(url, importers.add(importer))
    return url
  }

  /** Returns the text of a file with its bug; undefined where it has none. */
  #sourceOf(url: string): string | undefined {
    const [address = '', number = ''] = url.split(mark)
    const planting = this.#plantings.get(number)
    return planting?.edits
      .get(address)
      ?.reduce((text, edit) => plantedSource(text, planting.mutant.name, edit), readFileSync(new URL(address), 'utf8'))
  }

  #leadingTo(addresses: Iterable<string>): ReadonlySet<string> {
    const found = new Set(addresses)
    // Iteration over a set includes elements added meanwhile.
    for (const address of found) for (const importer of this.#importers.get(address) ?? []) found.add(importer)
    return found
  }
}
