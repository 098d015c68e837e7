import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeThrown, StateError } from '@waybill/core'

/** Loads a TypeScript or JavaScript module by its path. Node removes the types. @throws StateError */
export async function loadModule(cwd: string, path: string): Promise<Readonly<Record<string, unknown>>> {
  const { href } = pathToFileURL(resolve(cwd, path))
  try {
    return (await import(/* @vite-ignore */ href)) as Readonly<Record<string, unknown>>
  } catch (cause) {
    throw new StateError(`${path} cannot be loaded: ${describeThrown(cause)}.`, {
      cause,
      hint: 'Run it with `node` alone; TypeScript that needs more than the removal of types has to be compiled first.',
    })
  }
}
