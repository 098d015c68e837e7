/** The preferences of this browser's user. Kept here, never on the server. */

import { effect, type Signal, signal } from '@preact/signals'

/** The choices, the default first. */
export const choices = {
  theme: ['system', 'light', 'dark', 'contrast'],
  density: ['auto', 'compact', 'comfortable'],
  zone: ['utc', 'local'],
  keys: ['on', 'off'],
} as const

/** A preference. */
export type SettingName = keyof typeof choices

/** The value of a preference. */
export type Choice<N extends SettingName> = (typeof choices)[N][number]

const prefix = 'waybill.'

function setting<N extends SettingName>(name: N): Signal<Choice<N>> {
  const words: readonly Choice<N>[] = choices[name]
  const stored = read(name)
  return signal(words.find((word) => word === stored) ?? (words[0] as Choice<N>))
}

/** Every preference. */
export const settings: { readonly [N in SettingName]: Signal<Choice<N>> } = {
  theme: setting('theme'),
  density: setting('density'),
  zone: setting('zone'),
  keys: setting('keys'),
}

/** Applies the preferences to the document and keeps them. */
export function startSettings(): void {
  for (const name of Object.keys(choices) as SettingName[])
    effect(() => {
      const { value } = settings[name]
      document.documentElement.dataset[name] = value
      write(name, value)
    })
}

/** Returns whether the page is dark now. */
export function isDark(): boolean {
  const theme = settings.theme.value
  return theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
}

// Storage may be denied: the preference then ends with the page.
function read(name: string): string | null {
  try {
    return localStorage.getItem(`${prefix}${name}`)
  } catch {
    return null
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(`${prefix}${name}`, value)
  } catch {
    // It ends with the page.
  }
}
