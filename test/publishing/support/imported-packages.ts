/** The packages that a module imports or re-exports from, each once; not files beside it, nor what Node brings. */
export function importedPackages(code: string): string[] {
  const statement = /^(?:import|export)(?: [^;'"=()]* from)? ['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)[^'"]*['"]/gm
  const named = [...code.matchAll(statement)].map((match) => match[1] ?? '')
  return [...new Set(named)].filter((name) => !name.startsWith('node:'))
}
