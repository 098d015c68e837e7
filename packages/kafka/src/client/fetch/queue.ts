/** A FIFO queue on an array. Array.shift() on thousands of items costs more than a handler call. */
export class Queue<T> {
  #items: T[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  peek(): T | undefined {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#items[this.#head] = undefined as T
    if (++this.#head === this.#items.length) this.clear()
    else if (this.#head >= 1_024 && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  unshift(item: T): void {
    if (this.#head === 0) this.#items.unshift(item)
    else this.#items[--this.#head] = item
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }
}
