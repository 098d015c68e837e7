/** Plants a bug in a source file while it is loaded. The file itself does not change. */

import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Mutant, PlantedEdit } from '../simulation.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** A mutant whose text is not in its file. */
export class MutantError extends Error {}

/** Returns the source with the bug in it. */
export function plantedSource(source: string, name: string, { file, find, replace }: PlantedEdit): string {
  const places = source.split(find).length - 1
  if (places !== 1) throw new MutantError(`The text of mutant "${name}" occurs ${places} times in ${file}, not once.`)
  return source.replace(find, () => replace)
}

/** Returns the changes of a mutant by file address. */
export function editsByAddress(mutant: Mutant): ReadonlyMap<string, readonly PlantedEdit[]> {
  const edits = [mutant, ...(mutant.also ?? [])]
  return Map.groupBy(edits, ({ file }) => pathToFileURL(join(root, file)).href)
}

/**
 * Makes this process load the files with the bug in them. Files loaded before keep their content, so this comes first.
 * Returns a function that names a file not loaded since: a bug in such a file would never be found.
 */
export function plantMutant(mutant: Mutant): () => string | undefined {
  const edits = editsByAddress(mutant)
  const missing = new Map([...edits].map(([url, [edit]]) => [url, edit?.file]))
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const planned = edits.get(url)
      if (planned === undefined) return loaded
      missing.delete(url)
      const source = planned.reduce(
        (text, edit) => plantedSource(text, mutant.name, edit),
        readFileSync(new URL(url), 'utf8'),
      )
      return { ...loaded, source }
    },
  })
  return () => [...missing.values()][0]
}
