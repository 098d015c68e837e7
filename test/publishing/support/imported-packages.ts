/** Returns the packages that a module imports, requires or re-exports from, each once; no files, no Node modules. */
export function importedPackages(code: string): string[] {
  const statement = /^(?:import|export)(?: [^;'"=()]* from)? ['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)[^'"]*['"]/gm
  const call = /\brequire(?:\$\d+)?\(['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)[^'"]*['"]\)/g
  const named = [...code.matchAll(statement), ...code.matchAll(call)].map((match) => match[1] ?? '')
  return [...new Set(named)].filter((name) => !name.startsWith('node:'))
}
