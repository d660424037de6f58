# SPDX-License-Identifier: BSD-2-Clause
# Functions of Ruby of all sorts, on known lines: each burns time or waits at the end of a stack, which is told first, as
# caller_locations() says it; a method in C has no line of its own: frames.rb spin|nap SECONDS
require 'ripper'
require 'tmpdir'

IN_C = %w[call catch each eval fork gsub inject instance_eval map parse require sort_by times].freeze

def tell
  trace = caller_locations(2)
  frames = trace.each_with_index.map do |at, i|
    by = trace[i + 1] # whose place a method in C has
    in_c = IN_C.include?(at.label) && by && [by.path, by.lineno] == [at.path, at.lineno]
    in_c ? at.label : "#{at.label} #{File.basename(at.path)}:#{at.lineno}"
  end
  puts frames.reverse.join(';')
  $stdout.flush
end

def rest
  tell
  if ARGV[0] == 'nap'
    sleep ARGV[1].to_f
    return
  end
  ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + ARGV[1].to_f
  while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < ends
  end
end

def recursion(n)
  if n.positive?
    recursion(n - 1)
  else
    rest
  end
end

class Größe
  define_method(:gemacht) { rest }

  def methode = rest

  def self.statisch
    rest
  end

  def method_missing(name, *rest_of)
    name == :unbekannt ? rest : super
  end

  def respond_to_missing?(*) = true

  def each
    yield 1
  end
  include Enumerable
end

def rescued
  raise 'x'
rescue StandardError
  rest
ensure
  rest
end

def ensured
  Integer('1')
ensure
  rest
end

def yielder
  yield
end

recursion(5)
Größe.new.methode
Größe.statisch
Größe.new.gemacht
Größe.new.unbekannt
[1].each { |x| rest if x }
[2, 1].sort_by { |x| rest if x == 2; x }
[1, 2].inject { |a, b| rest; a + b }
Größe.new.map { |x| rest; x }
1.times { rest }
yielder { yielder { rest } }
rescued
ensured
eval("rest\n", binding, 'evaled.rb', 7)
Größe.new.instance_eval { rest }
class Klasse
  Object.send(:rest)
end
Fiber.new { rest }.resume
Thread.new { rest }.join
->(x) { rest if x }.call(1)
catch(:done) { rest; throw :done }
'a'.gsub(/a/) { rest; 'b' }
class Parser < Ripper
  def on_int(_) = rest
end
Parser.new('1').parse
file = "#{Dir.tmpdir}/rawprof-required.#{Process.pid}.rb"
File.write(file, "\nrest\n")
require file
File.unlink(file)
Process.wait(fork { rest })
queue = Queue.new
waiting = Thread.new { queue.pop }
rest
queue << 1
waiting.join

def long(x)
  x += 0 if x > 0
  x += 1 if x > 1
  x += 2 if x > 2
  x += 3 if x > 3
  x += 4 if x > 4
  x += 5 if x > 5
  x += 6 if x > 6
  x += 7 if x > 7
  x += 8 if x > 8
  x += 9 if x > 9
  x += 10 if x > 10
  x += 11 if x > 11
  x += 12 if x > 12
  x += 13 if x > 13
  x += 14 if x > 14
  x += 15 if x > 15
  x += 16 if x > 16
  x += 17 if x > 17
  x += 18 if x > 18
  x += 19 if x > 19
  x += 20 if x > 20
  x += 21 if x > 21
  x += 22 if x > 22
  x += 23 if x > 23
  x += 24 if x > 24
  x += 25 if x > 25
  x += 26 if x > 26
  x += 27 if x > 27
  x += 28 if x > 28
  x += 29 if x > 29
  x += 30 if x > 30
  x += 31 if x > 31
  x += 32 if x > 32
  x += 33 if x > 33
  x += 34 if x > 34
  x += 35 if x > 35
  x += 36 if x > 36
  x += 37 if x > 37
  x += 38 if x > 38
  x += 39 if x > 39
  x += 40 if x > 40
  x += 41 if x > 41
  x += 42 if x > 42
  x += 43 if x > 43
  x += 44 if x > 44
  x += 45 if x > 45
  x += 46 if x > 46
  x += 47 if x > 47
  x += 48 if x > 48
  x += 49 if x > 49
  x += 50 if x > 50
  x += 51 if x > 51
  x += 52 if x > 52
  x += 53 if x > 53
  x += 54 if x > 54
  x += 55 if x > 55
  x += 56 if x > 56
  x += 57 if x > 57
  x += 58 if x > 58
  x += 59 if x > 59
  x += 60 if x > 60
  x += 61 if x > 61
  x += 62 if x > 62
  x += 63 if x > 63
  x += 64 if x > 64
  x += 65 if x > 65
  x += 66 if x > 66
  x += 67 if x > 67
  x += 68 if x > 68
  x += 69 if x > 69
  x += 70 if x > 70
  x += 71 if x > 71
  x += 72 if x > 72
  x += 73 if x > 73
  x += 74 if x > 74
  x += 75 if x > 75
  x += 76 if x > 76
  x += 77 if x > 77
  x += 78 if x > 78
  x += 79 if x > 79
  x += 80 if x > 80
  x += 81 if x > 81
  x += 82 if x > 82
  x += 83 if x > 83
  x += 84 if x > 84
  x += 85 if x > 85
  x += 86 if x > 86
  x += 87 if x > 87
  x += 88 if x > 88
  x += 89 if x > 89
  x += 90 if x > 90
  x += 91 if x > 91
  x += 92 if x > 92
  x += 93 if x > 93
  x += 94 if x > 94
  x += 95 if x > 95
  x += 96 if x > 96
  x += 97 if x > 97
  x += 98 if x > 98
  x += 99 if x > 99
  x += 100 if x > 100
  x += 101 if x > 101
  x += 102 if x > 102
  x += 103 if x > 103
  x += 104 if x > 104
  x += 105 if x > 105
  x += 106 if x > 106
  x += 107 if x > 107
  x += 108 if x > 108
  x += 109 if x > 109
  x += 110 if x > 110
  x += 111 if x > 111
  x += 112 if x > 112
  x += 113 if x > 113
  x += 114 if x > 114
  x += 115 if x > 115
  x += 116 if x > 116
  x += 117 if x > 117
  x += 118 if x > 118
  x += 119 if x > 119
  x += 120 if x > 120
  x += 121 if x > 121
  x += 122 if x > 122
  x += 123 if x > 123
  x += 124 if x > 124
  x += 125 if x > 125
  x += 126 if x > 126
  x += 127 if x > 127
  x += 128 if x > 128
  x += 129 if x > 129
  x += 130 if x > 130
  x += 131 if x > 131
  x += 132 if x > 132
  x += 133 if x > 133
  x += 134 if x > 134
  x += 135 if x > 135
  x += 136 if x > 136
  x += 137 if x > 137
  x += 138 if x > 138
  x += 139 if x > 139
  x += 140 if x > 140
  x += 141 if x > 141
  x += 142 if x > 142
  x += 143 if x > 143
  x += 144 if x > 144
  x += 145 if x > 145
  x += 146 if x > 146
  x += 147 if x > 147
  x += 148 if x > 148
  x += 149 if x > 149
  x += 150 if x > 150
  x += 151 if x > 151
  x += 152 if x > 152
  x += 153 if x > 153
  x += 154 if x > 154
  x += 155 if x > 155
  x += 156 if x > 156
  x += 157 if x > 157
  x += 158 if x > 158
  x += 159 if x > 159
  x += 160 if x > 160
  x += 161 if x > 161
  x += 162 if x > 162
  x += 163 if x > 163
  x += 164 if x > 164
  x += 165 if x > 165
  x += 166 if x > 166
  x += 167 if x > 167
  x += 168 if x > 168
  x += 169 if x > 169
  x += 170 if x > 170
  x += 171 if x > 171
  x += 172 if x > 172
  x += 173 if x > 173
  x += 174 if x > 174
  x += 175 if x > 175
  x += 176 if x > 176
  x += 177 if x > 177
  x += 178 if x > 178
  x += 179 if x > 179
  x += 180 if x > 180
  x += 181 if x > 181
  x += 182 if x > 182
  x += 183 if x > 183
  x += 184 if x > 184
  x += 185 if x > 185
  x += 186 if x > 186
  x += 187 if x > 187
  x += 188 if x > 188
  x += 189 if x > 189
  x += 190 if x > 190
  x += 191 if x > 191
  x += 192 if x > 192
  x += 193 if x > 193
  x += 194 if x > 194
  x += 195 if x > 195
  x += 196 if x > 196
  x += 197 if x > 197
  x += 198 if x > 198
  x += 199 if x > 199
  x += 200 if x > 200
  x += 201 if x > 201
  x += 202 if x > 202
  x += 203 if x > 203
  x += 204 if x > 204
  x += 205 if x > 205
  x += 206 if x > 206
  x += 207 if x > 207
  x += 208 if x > 208
  x += 209 if x > 209
  x += 210 if x > 210
  x += 211 if x > 211
  x += 212 if x > 212
  x += 213 if x > 213
  x += 214 if x > 214
  x += 215 if x > 215
  x += 216 if x > 216
  x += 217 if x > 217
  x += 218 if x > 218
  x += 219 if x > 219
  x += 220 if x > 220
  x += 221 if x > 221
  x += 222 if x > 222
  x += 223 if x > 223
  x += 224 if x > 224
  x += 225 if x > 225
  x += 226 if x > 226
  x += 227 if x > 227
  x += 228 if x > 228
  x += 229 if x > 229
  x += 230 if x > 230
  x += 231 if x > 231
  x += 232 if x > 232
  x += 233 if x > 233
  x += 234 if x > 234
  x += 235 if x > 235
  x += 236 if x > 236
  x += 237 if x > 237
  x += 238 if x > 238
  x += 239 if x > 239
  x += 240 if x > 240
  x += 241 if x > 241
  x += 242 if x > 242
  x += 243 if x > 243
  x += 244 if x > 244
  x += 245 if x > 245
  x += 246 if x > 246
  x += 247 if x > 247
  x += 248 if x > 248
  x += 249 if x > 249
  x += 250 if x > 250
  x += 251 if x > 251
  x += 252 if x > 252
  x += 253 if x > 253
  x += 254 if x > 254
  x += 255 if x > 255
  x += 256 if x > 256
  x += 257 if x > 257
  x += 258 if x > 258
  x += 259 if x > 259
  x += 260 if x > 260
  x += 261 if x > 261
  x += 262 if x > 262
  x += 263 if x > 263
  x += 264 if x > 264
  x += 265 if x > 265
  x += 266 if x > 266
  x += 267 if x > 267
  x += 268 if x > 268
  x += 269 if x > 269
  x += 270 if x > 270
  x += 271 if x > 271
  x += 272 if x > 272
  x += 273 if x > 273
  x += 274 if x > 274
  x += 275 if x > 275
  x += 276 if x > 276
  x += 277 if x > 277
  x += 278 if x > 278
  x += 279 if x > 279
  x += 280 if x > 280
  x += 281 if x > 281
  x += 282 if x > 282
  x += 283 if x > 283
  x += 284 if x > 284
  x += 285 if x > 285
  x += 286 if x > 286
  x += 287 if x > 287
  x += 288 if x > 288
  x += 289 if x > 289
  x += 290 if x > 290
  x += 291 if x > 291
  x += 292 if x > 292
  x += 293 if x > 293
  x += 294 if x > 294
  x += 295 if x > 295
  x += 296 if x > 296
  x += 297 if x > 297
  x += 298 if x > 298
  x += 299 if x > 299
  rest
  x += 300 if x > 300
  x += 301 if x > 301
  x += 302 if x > 302
  x += 303 if x > 303
  x += 304 if x > 304
  x += 305 if x > 305
  x += 306 if x > 306
  x += 307 if x > 307
  x += 308 if x > 308
  x += 309 if x > 309
  x += 310 if x > 310
  x += 311 if x > 311
  x += 312 if x > 312
  x += 313 if x > 313
  x += 314 if x > 314
  x += 315 if x > 315
  x += 316 if x > 316
  x += 317 if x > 317
  x += 318 if x > 318
  x += 319 if x > 319
  x
end
long(1)
