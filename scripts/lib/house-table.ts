import type { PackageCount } from './house-count.ts'
import type { ImportCost } from './import-cost.ts'

/** A row of costs: a package of ours, or a library to compare it with. */
export interface CostRow {
  readonly name: string
  readonly built: ImportCost
  /** From the TypeScript sources, where there are any. */
  readonly source?: ImportCost
}

/** Returns the numbers of a house as text for people. */
export function houseText(counts: readonly PackageCount[], costs: readonly CostRow[]): string {
  return [
    'Folders (types count like values; nested folders are folders of their own)',
    table(
      [
        'package',
        'files',
        'folders',
        'most in one',
        'in src root',
        'cycles',
        'upward',
        'no room',
        'shared names',
        'largest file',
      ],
      counts.map((count) => [
        count.name,
        count.files,
        count.folders,
        Math.max(0, ...Object.values(count.filesPerFolder)),
        count.filesInRoot,
        count.folderCycles.length,
        count.upwardImports ?? '-',
        count.filesInNoRoom ?? '-',
        Object.keys(count.sharedNames).length,
        `${count.largestFile.lines} ${count.largestFile.path.replace(/^.*\/src\//, '')}`,
      ]),
    ),
    'Files per folder',
    ...counts.map(({ name, filesPerFolder }) => {
      const folders = Object.entries(filesPerFolder).map(([folder, files]) => `${folder} ${files}`)
      return `  ${name}: ${folders.join(', ')}`
    }),
    '',
    'Surface and words (comments that open with What, Who, Whoever; lines with somebody, nobody, whoever; ids)',
    table(
      ['package', 'root exports', 'internal', 'other entries', 'openings', 'nobodies', 'ids'],
      [...counts.map(wordsRow), totalRow(counts.map(wordsRow))],
    ),
    'Import in a fresh process: median time, and memory of the whole process',
    table(
      ['module', 'built ms', 'built MB', 'source ms', 'source MB'],
      costs.map(({ name, built, source }) => [
        name,
        built.importMs,
        built.rssMb,
        source?.importMs ?? '-',
        source?.rssMb ?? '-',
      ]),
    ),
  ].join('\n')
}

type Cell = string | number

function wordsRow({ name, exports, openings, nobodies, ids }: PackageCount): Cell[] {
  const { '.': root = 0, './internal': internal = 0, ...others } = exports
  const other = Object.values(others).reduce((sum, names) => sum + names, 0)
  return [name, root, internal, other, openings, nobodies, ids]
}

function totalRow(rows: readonly (readonly Cell[])[]): Cell[] {
  const columns = rows[0]?.slice(1).map((_, index) => rows.reduce((sum, row) => sum + Number(row[index + 1]), 0)) ?? []
  return ['all', ...columns]
}

function table(heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => `${row[column]}`.length)))
  const line = (cells: readonly Cell[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return typeof cell === 'number' || cell === '-' ? `${cell}`.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [heading, ...rows]
    .map((cells) => `  ${line(cells)}`)
    .join('\n')
    .concat('\n')
}
