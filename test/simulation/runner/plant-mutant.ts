/** Plants a bug in a source file while it is loaded. The file itself stays as it is. */

import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Mutant } from '../simulation.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** A mutant whose text is not where it is said to be. */
export class MutantError extends Error {}

/** The source with the bug in it. */
export function plantedSource(source: string, { name, file, find, replace }: Mutant): string {
  const places = source.split(find).length - 1
  if (places !== 1) throw new MutantError(`The text of mutant "${name}" occurs ${places} times in ${file}, not once.`)
  return source.replace(find, () => replace)
}

/**
 * From now on this process loads the file with the bug in it. What was loaded before stays as it is, so this comes first.
 * Answers whether the file was loaded since: a bug in a file that nobody loads would never be found.
 */
export function plantMutant(mutant: Mutant): () => boolean {
  const target = pathToFileURL(join(root, mutant.file)).href
  let isPlanted = false
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (url !== target) return loaded
      isPlanted = true
      return { ...loaded, source: plantedSource(readFileSync(new URL(url), 'utf8'), mutant) }
    },
  })
  return () => isPlanted
}
